"""examples/node-health/nvsentinel.py, as NVSentinel's connector hears it: nvsentinel_test.py TOOL PART

`events`: what becomes of nodes of examples/fleets. `sends`: a connector on a socket gets it over gRPC, and reads it by protobuf's own library.
"""
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent import futures

TOOL, PART = sys.argv[1:3]
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
SCRIPT = EXAMPLES / "node-health" / "nvsentinel.py"
BOUND_SEC = 120
STORE_ONLY, CONTACT_SUPPORT = 2, 5

spec = importlib.util.spec_from_file_location("nvsentinel", SCRIPT)
nvsentinel = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
spec.loader.exec_module(nvsentinel)


def found(node):
    done = subprocess.run([TOOL, "check", "--scenario", EXAMPLES / "fleets" / f"{node}.toml", "--json"], capture_output=True, text=True)
    return json.loads(done.stdout)


class Events(unittest.TestCase):
    def test_a_healthy_node(self):
        events = nvsentinel.events_of(found("dgx-h100"), "n7")
        self.assertGreater(len(events), 8)
        self.assertEqual({(one["healthy"], one["node"], one["action"]) for one in events.values()}, {(True, "n7", 0)})
        self.assertEqual({tuple(one["causes"]) for one in events.values()}, {()})

    def test_a_rail_that_is_down(self):
        events = nvsentinel.events_of(found("rail-down"), "n7")
        sick = {place: one for place, one in events.items() if not one["healthy"]}
        self.assertEqual(set(sick), {"mlx5_4:1"})
        one = sick["mlx5_4:1"]
        self.assertEqual((one["check"], one["causes"], one["action"], one["entities"]),
                         ("NcclHcaPort", ["DEV-DOWN"], CONTACT_SUPPORT, [("NIC", "mlx5_4"), ("NICPort", "1")]))
        self.assertTrue(one["message"].startswith("DEV-DOWN: mlx5_4:1 is DOWN"))
        self.assertTrue(one["metadata"]["remedy"].startswith("Look at the cable"))
        # Second ports that were never meant to carry anything are nobody's news, until one was told of.
        self.assertNotIn("mlx5_1:1", events)
        self.assertTrue(nvsentinel.events_of(found("rail-down"), "n7", {"mlx5_1:1": {}})["mlx5_1:1"]["healthy"])

    def test_a_node_that_can_use_none(self):
        node = nvsentinel.events_of(found("gpu-node-without-rdma-core"), "n7")[""]
        self.assertEqual((node["healthy"], node["entities"], node["action"]), (False, [], CONTACT_SUPPORT))

    def test_a_set_up_is_not_sick(self):
        for node in ("storage-faster", "ipv6-only", "login-node"):
            self.assertTrue(all(one["healthy"] for one in nvsentinel.events_of(found(node), "n7").values()), node)


def messages():
    """NVSentinel's HealthEvents as protobuf's library builds it. NVIDIA/NVSentinel, data-models/protobufs/health_event.proto."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

    file = descriptor_pb2.FileDescriptorProto(name="health_event.proto", package="datamodels", syntax="proto3",
                                              dependency=[timestamp_pb2.DESCRIPTOR.name])
    kinds = descriptor_pb2.FieldDescriptorProto

    def add(message, name, number, kind, repeated=False, of=None):
        message.field.add(name=name, number=number, type=kind, label=kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL, type_name=of)

    entity = file.message_type.add(name="Entity")
    add(entity, "entityType", 1, kinds.TYPE_STRING)
    add(entity, "entityValue", 2, kinds.TYPE_STRING)
    event = file.message_type.add(name="HealthEvent")
    entry = event.nested_type.add(name="MetadataEntry")
    entry.options.map_entry = True
    add(entry, "key", 1, kinds.TYPE_STRING)
    add(entry, "value", 2, kinds.TYPE_STRING)
    for number, (name, kind) in enumerate((("version", kinds.TYPE_UINT32), ("agent", kinds.TYPE_STRING), ("componentClass", kinds.TYPE_STRING),
                                           ("checkName", kinds.TYPE_STRING), ("isFatal", kinds.TYPE_BOOL), ("isHealthy", kinds.TYPE_BOOL),
                                           ("message", kinds.TYPE_STRING), ("recommendedAction", kinds.TYPE_INT32)), 1):
        add(event, name, number, kind)
    add(event, "errorCode", 9, kinds.TYPE_STRING, True)
    add(event, "entitiesImpacted", 10, kinds.TYPE_MESSAGE, True, ".datamodels.Entity")
    add(event, "metadata", 11, kinds.TYPE_MESSAGE, True, ".datamodels.HealthEvent.MetadataEntry")
    add(event, "generatedTimestamp", 12, kinds.TYPE_MESSAGE, of=".google.protobuf.Timestamp")
    add(event, "nodeName", 13, kinds.TYPE_STRING)
    add(event, "processingStrategy", 16, kinds.TYPE_INT32)
    events = file.message_type.add(name="HealthEvents")
    add(events, "version", 1, kinds.TYPE_UINT32)
    add(events, "events", 2, kinds.TYPE_MESSAGE, True, ".datamodels.HealthEvent")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("datamodels.HealthEvents"))


class Sends(unittest.TestCase):
    def setUp(self):
        import grpc

        directory = tempfile.TemporaryDirectory(prefix="nnd-nvsentinel-")
        self.addCleanup(directory.cleanup)
        self.dir = pathlib.Path(directory.name)
        self.heard, self.refuse = [], None
        parse = messages().FromString

        def take(request, context):
            if self.refuse:
                context.abort(self.refuse, "not now")
            self.heard.append((request, dict(context.invocation_metadata()).get("authorization")))
            return b""

        server = grpc.server(futures.ThreadPoolExecutor(2))
        method = grpc.unary_unary_rpc_method_handler(take, request_deserializer=parse)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("datamodels.PlatformConnector", {"HealthEventOccurredV1": method}),))
        self.socket = self.dir / "nvsentinel.sock"
        server.add_insecure_port(f"unix:{self.socket}")
        server.start()
        self.addCleanup(lambda: server.stop(None).wait())
        self.unavailable = grpc.StatusCode.UNAVAILABLE

    def node(self, name):
        """From now on the tool's node is that one."""
        tool = self.dir / "tool"
        new = self.dir / "tool.new"
        new.write_text(f'#!/bin/sh\nexec {TOOL} "$@" --scenario {EXAMPLES}/fleets/{name}.toml\n')
        new.chmod(0o755)
        new.replace(tool)
        return tool

    def call(self, *words):
        process = subprocess.Popen([sys.executable, SCRIPT, "--socket", f"unix://{self.socket}", "--node", "n7", *words], text=True,
                                   stderr=subprocess.PIPE, env=os.environ | {"NND_TOOL": str(self.dir / "tool")})
        self.addCleanup(lambda: process.poll() is None and (process.kill(), process.wait()))
        return process

    def until(self, holds):
        end = time.monotonic() + BOUND_SEC
        while time.monotonic() < end:
            if holds():
                return
            time.sleep(0.05)
        self.fail("it did not come to that")

    def test_once(self):
        from google.protobuf import unknown_fields

        self.node("rail-down")
        token = self.dir / "token"
        token.write_text("abc\n")
        call = self.call("--token", str(token))
        _, err = call.communicate(timeout=BOUND_SEC)
        self.assertEqual((call.returncode, err), (0, ""))
        (request, authorization), = self.heard
        self.assertEqual((request.version, authorization), (1, "Bearer abc"))
        for event in request.events:
            self.assertEqual((event.version, event.agent, event.componentClass, event.nodeName, event.processingStrategy, event.isFatal),
                             (1, "nccl-net-diag", "NIC", "n7", STORE_ONLY, False))
            self.assertLess(abs(event.generatedTimestamp.seconds - time.time()), BOUND_SEC)
            self.assertEqual(len(unknown_fields.UnknownFieldSet(event)), 0)
        sick, = [event for event in request.events if not event.isHealthy]
        self.assertEqual((list(sick.errorCode), sick.recommendedAction), (["DEV-DOWN"], CONTACT_SUPPORT))
        self.assertEqual([(one.entityType, one.entityValue) for one in sick.entitiesImpacted], [("NIC", "mlx5_4"), ("NICPort", "1")])
        self.assertIn("cable", sick.metadata["remedy"])

    def test_what_changes_and_heals(self):
        self.node("rail-down")
        call = self.call("--every", "0.2")
        self.until(lambda: len(self.heard) == 1)
        self.refuse = self.unavailable
        # The rail is well again, which is told when the connector takes it.
        healed = (EXAMPLES / "fleets" / "rail-down.toml").read_text()
        self.assertIn("DOWN", healed.upper())
        tool = self.dir / "tool"
        answer = json.loads(subprocess.run([tool, "check", "--json"], capture_output=True, text=True).stdout)
        answer["verdicts"] = []
        for port in answer["hcas"]:
            if port["name"] == "mlx5_4":
                port.update(verdict="taken", state="ACTIVE")
        (self.dir / "well.json").write_text(json.dumps(answer))
        new = self.dir / "tool.new"
        new.write_text(f"#!/bin/sh\ncat {self.dir}/well.json\n")
        new.chmod(0o755)
        new.replace(tool)
        self.assertIn("UNAVAILABLE: not now", call.stderr.readline())
        self.refuse = None
        self.until(lambda: len(self.heard) == 2)
        event, = [one for one in self.heard[1][0].events if one.entitiesImpacted]
        self.assertTrue(event.isHealthy)
        self.assertEqual(event.entitiesImpacted[0].entityValue, "mlx5_4")
        call.send_signal(signal.SIGTERM)
        call.communicate(timeout=BOUND_SEC)
        self.assertEqual(len(self.heard), 2)

    def test_what_could_not_be_examined_is_not_told(self):
        self.node("no-such-node")
        call = self.call()
        _, err = call.communicate(timeout=BOUND_SEC)
        self.assertEqual(call.returncode, 3)
        self.assertIn("no-such-node", err)
        self.assertEqual(self.heard, [])

    def test_a_connector_that_is_not_there(self):
        self.node("dgx-h100")
        self.socket = self.dir / "none.sock"
        call = self.call()
        _, err = call.communicate(timeout=BOUND_SEC)
        self.assertEqual(call.returncode, 1)
        self.assertIn("UNAVAILABLE", err)


if __name__ == "__main__":
    if PART == "sends" and None in (importlib.util.find_spec("grpc"), importlib.util.find_spec("google")):
        print("SKIPPED: no grpcio and protobuf for this Python: test/support/fetch-receivers, and PYTHONPATH is what it prints")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], {"events": "Events", "sends": "Sends"}[PART]])
