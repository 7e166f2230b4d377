#!/usr/bin/env python3
"""Tells NVIDIA NVSentinel of this node's HCAs: nvsentinel.py [--every SEC] [--socket PATH] [--node NAME] [--token FILE]

`nccl-net-diag check` judges each port that NCCL would use, and the connector of NVSentinel's on this node gets one event for each, a healthy one
too: otherwise what it was told once would never end. With --every it goes on, and tells what has changed. All events are STORE_ONLY: they are
kept and exported, and no node is cordoned or drained for them. Sick is what is wrong with the node's own hardware; NND_SICK names the causes.
It needs Python's grpcio and, on the socket, whatever NVSentinel asks for: newer releases a service account's token, which --token presents.
Exit code 0: all was taken; 1: the connector did not take it; 3: the node could not be examined, and nothing was told.
"""
import argparse
import json
import os
import socket
import subprocess
import sys
import time

# NVIDIA/NVSentinel, data-models/protobufs/health_event.proto: the numbers of the fields that are sent, and of enumerators.
EVENTS = {"version": 1, "events": 2}
EVENT = {"version": 1, "agent": 2, "componentClass": 3, "checkName": 4, "isFatal": 5, "isHealthy": 6, "message": 7, "recommendedAction": 8,
         "errorCode": 9, "entitiesImpacted": 10, "metadata": 11, "generatedTimestamp": 12, "nodeName": 13, "processingStrategy": 16}
ENTITY = {"entityType": 1, "entityValue": 2}
TIMESTAMP = {"seconds": 1, "nanos": 2}
NONE, CONTACT_SUPPORT = 0, 5
STORE_ONLY = 2
METHOD = "/datamodels.PlatformConnector/HealthEventOccurredV1"
SICK = os.environ.get("NND_SICK", "DEV-DOWN DEV-SLOW DEV-SILENT DEV-UNUSABLE IB-NOSM").split()


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def message(numbers, fields):
    """A protobuf message; what is 0 or empty is left out, as proto3 has it."""
    out = b""
    for name, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, (bool, int)):
                out += varint(numbers[name] << 3) + varint(int(one)) if one else b""
            elif one or isinstance(value, list):
                text = one.encode() if isinstance(one, str) else one
                out += varint(numbers[name] << 3 | 2) + varint(len(text)) + text
    return out


def event_bytes(event, now):
    entities = [message(ENTITY, {"entityType": kind, "entityValue": value}) for kind, value in event["entities"]]
    metadata = [message({"key": 1, "value": 2}, {"key": key, "value": value}) for key, value in event["metadata"].items()]
    stamp = message(TIMESTAMP, {"seconds": int(now), "nanos": int(now % 1 * 1e9)})
    return message(EVENT, {
        "version": 1, "agent": "nccl-net-diag", "componentClass": "NIC", "checkName": event["check"], "isFatal": False, "isHealthy": event["healthy"],
        "message": event["message"], "recommendedAction": event["action"], "errorCode": event["causes"], "entitiesImpacted": entities,
        "metadata": metadata, "generatedTimestamp": stamp, "nodeName": event["node"], "processingStrategy": STORE_ONLY})


def events_bytes(events, now):
    return message(EVENTS, {"version": 1, "events": [event_bytes(one, now) for one in events]})


def events_of(found, node, told=()):
    """What `check --json` found, as {port: event}; "" is the node. `told`: ports that were told of before."""
    sick = {}
    for verdict in found["verdicts"]:
        if verdict["cause"] in SICK and verdict["decision"] != "info":
            for place in [f"{verdict['device']}:{verdict['port']}", *verdict["also"]]:
                sick.setdefault(place, []).append(verdict)
    events = {"": {"check": "NcclHcas", "healthy": found["exit_code"] == 0, "message": found["verdict"], "causes": [], "entities": [], "node": node,
                   "action": NONE if found["exit_code"] == 0 else CONTACT_SUPPORT, "metadata": {}}}
    for port in found["hcas"]:
        place = f"{port['name']}:{port['port']}"
        if port["verdict"] == "skipped" and place not in sick and place not in told:
            continue
        why = sick.get(place, [])
        text = " ".join(f"{one['cause']}: {one['fact']}" for one in why) or f"{place} is {port['state']}, and NCCL's verdict is: {port['verdict']}"
        events[place] = {"check": "NcclHcaPort", "healthy": not why, "message": text, "causes": sorted({one["cause"] for one in why}), "node": node,
                         "action": CONTACT_SUPPORT if why else NONE, "entities": [("NIC", port["name"]), ("NICPort", str(port["port"]))],
                         "metadata": {"remedy": why[0]["remedy"]} if why else {}}
    return events


def check():
    """What the tool found; None: it could not examine the node."""
    done = subprocess.run([os.environ.get("NND_TOOL", "nccl-net-diag"), "check", "--json"], capture_output=True, text=True)
    try:
        found = json.loads(done.stdout)
        if "error" not in found and found["exit_code"] in (0, 1):
            return found
        print(found["verdict"].splitlines()[0], file=sys.stderr)
    except (ValueError, KeyError) as wrong:
        print(f"the answer of nccl-net-diag check is unknown here: {wrong!r}", file=sys.stderr)
    return None


def send(events, where, token):
    import grpc

    metadata = [("authorization", "Bearer " + open(token).read().strip())] if token else None
    try:
        with grpc.insecure_channel("unix:" + where.removeprefix("unix://")) as channel:
            channel.unary_unary(METHOD)(events_bytes(events, time.time()), timeout=30, metadata=metadata)
        return True
    except grpc.RpcError as error:
        print(f"{where}: {error.code().name}: {error.details()}", file=sys.stderr)
        return False


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--every", type=float, metavar="SEC")
    words.add_argument("--socket", default="/var/run/nvsentinel.sock", metavar="PATH")
    words.add_argument("--node", default=os.environ.get("NODE_NAME") or socket.gethostname(), metavar="NAME")
    words.add_argument("--token", metavar="FILE")
    call = words.parse_args()
    told = {}
    while True:
        found, code = check(), 3
        if found:
            events = events_of(found, call.node, told)
            new = {place: event for place, event in events.items() if told.get(place) != event}
            code = 0
            if new:
                code = 0 if send(list(new.values()), call.socket, call.token) else 1
                if code == 0:
                    told.update(new)
        if not call.every:
            return code
        time.sleep(call.every)


if __name__ == "__main__":
    sys.exit(main())
