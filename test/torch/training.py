"""Training in small: DDP, FSDP and FSDP2 of a model of element-wise layers, compared with the same steps on the CPU."""
import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel

WIDTH, BATCH, STEPS = 4096, 4, 4


class Scale(nn.Module):
    def __init__(self, number):
        super().__init__()
        ramp = torch.linspace(-1, 1, WIDTH)
        self.weight = nn.Parameter(ramp * (number + 1) / 4)
        self.bias = nn.Parameter(ramp.flip(0) / 8)

    def forward(self, data):
        return torch.tanh(data * self.weight + self.bias)


def model():
    return nn.Sequential(*(Scale(number) for number in range(3)))


def batches(step, ranks):
    """What each rank is given in a step, on the CPU."""
    generator = torch.Generator().manual_seed(step)
    return torch.rand(ranks, BATCH, WIDTH, generator=generator)


def train(net, data, optimizer):
    optimizer.zero_grad()
    error = net(data) - 0.5
    (error * error).mean().backward()
    optimizer.step()


def optimizer_of(net):
    return torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9)


def on_cpu(ranks):
    net = model()
    optimizer = optimizer_of(net)
    for step in range(STEPS):
        train(net, batches(step, ranks).flatten(0, 1), optimizer)
    return torch.cat([parameter.detach() for parameter in net.parameters()])


def on_gpu(kind, before_backward):
    """The parameters after all steps, gathered. before_backward(step) is called in the first layer's backward."""
    me, ranks = dist.get_rank(), dist.get_world_size()
    plain = model().cuda()
    step = 0
    plain[0].register_full_backward_hook(lambda *_: before_backward(step))
    if kind == "ddp":
        net = DistributedDataParallel(plain, bucket_cap_mb=0.02)
    elif kind == "fsdp":
        net = FullyShardedDataParallel(plain, device_id=torch.cuda.current_device(), use_orig_params=True)
    else:
        for layer in plain:
            fully_shard(layer)
        net = fully_shard(plain)
    optimizer = optimizer_of(net)
    for step in range(STEPS):
        train(net, batches(step, ranks)[me].cuda(), optimizer)
    if kind == "fsdp":
        with FullyShardedDataParallel.summon_full_params(net):
            return torch.cat([parameter.detach().cpu() for parameter in net.parameters()])
    whole = (parameter.full_tensor() if kind == "fsdp2" else parameter for parameter in net.parameters())
    return torch.cat([parameter.detach().cpu() for parameter in whole])


def training(before_backward=lambda step: None):
    expected = on_cpu(dist.get_world_size())
    for kind in ("ddp", "fsdp", "fsdp2"):
        trained = on_gpu(kind, before_backward)
        assert torch.allclose(trained, expected, atol=1e-5), f"{kind}: off by {(trained - expected).abs().max().item()}"
