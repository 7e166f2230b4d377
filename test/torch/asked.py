"""What PyTorch and its NCCL ask the stand-ins for and don't get: asked.py PACKAGES TOOL

It is what docs/torch.md says, and all is right without it.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = """
import torch, torch.distributed as dist
torch.cuda.set_device(0)
dist.init_process_group("nccl")
data = torch.ones(4).cuda()
dist.all_reduce(data)
assert data.cpu().tolist() == [2] * 4
dist.destroy_process_group()
"""
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/torch.md"


def documented(version):
    """(name, "..." where it is a family) of the list on the page, which says what the newer release alone asks for."""
    told = re.search(r"^Stock PyTorch asks for this and does without: (.*?)\n\n?\Z", PAGE.read_text(), re.M | re.S)[1]
    always, newer = re.split(r", and in 2\.15\s", told)
    return re.findall(r"`(\w+)(\.\.\.)?`", always + (newer if version.startswith("2.15") else ""))


def main():
    packages, tool = pathlib.Path(sys.argv[1]), sys.argv[2]
    if not packages.is_dir():
        print(f"SKIPPED: {packages} is not there (test/torch/fetch-torch)")
        return 77
    with tempfile.TemporaryDirectory(prefix="nnd-asked-") as folder:
        environment = dict(os.environ, PYTHONPATH=str(packages), SOFTCUDA_UNPLAYED=f"{folder}/asked")
        run = subprocess.run([tool, "rehearse", "--json", "--scenario", "two-nodes-8-hca-bond", "--logs", f"{folder}/logs", "--deadline", "240",
                              "--", sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
        print(run.stderr)
        asked = set(pathlib.Path(folder, "asked").read_text().split())
    wrong = [] if run.returncode == 0 else [json.loads(run.stdout)["verdict"]]
    names = documented(packages.name)
    print(f"asked for and not played: {', '.join(sorted(asked))}")
    wrong += [f"not in {PAGE.name}: {name}" for name in sorted(asked) if not any(name == told or more and name.startswith(told) for told, more in names)]
    wrong += [f"in {PAGE.name}, and not asked for: {told}" for told, more in names if not any(name == told or more and name.startswith(told) for name in asked)]
    for line in wrong:
        print("WRONG:", line)
    return 1 if wrong else 0


sys.exit(main())
