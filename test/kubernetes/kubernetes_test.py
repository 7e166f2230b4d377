#!/usr/bin/env python3
"""The manifests of examples/, by Kubernetes' published schemas, and the chart as helm renders it: kubernetes_test.py TOOL PART

`rendered`: what is written there is what a cluster takes. `pod`: the exporter, as its DaemonSet starts it and with no more rights, sees
a job in another container. test/kubernetes/fetch-kubernetes brings helm and the schemas.
"""
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
CHART = EXAMPLES / "helm"
sys.path.insert(0, str(ROOT / "test" / "cli"))
from exported import BOUND_SEC, SCENARIO, TOOL, Exported  # noqa: E402

FETCHED = pathlib.Path(os.environ["NND_KUBERNETES"])
sys.path.insert(0, str(FETCHED))
try:
    import kubernetes_validate
    import yaml
except ImportError as error:
    print(f"SKIPPED: {error}; test/kubernetes/fetch-kubernetes fetches it")
    sys.exit(77)

RELEASES = ("1.28", "1.33", "1.37")
OPERATORS = ("kubeflow.org/v1", "kubeflow.org/v2beta1", "monitoring.coreos.com/v1")
POLICY = '# of "ours"\nmode = "enforce"\n[hca]\nmin_count = 8\n'
ALL = ["--set-file", "policy=/dev/stdin", "--set", "prometheusOperator.podMonitor=true,prometheusOperator.rules=true,grafana.dashboards=true",
       "--set", "prometheusOperator.labels.release=prometheus"]


def helm(*words, policy=""):
    done = subprocess.run([FETCHED / "helm", *words], input=policy, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def rendered(*words, policy=""):
    """{kind: [manifest]}"""
    out = {}
    for one in yaml.safe_load_all(helm("template", "diag", CHART, "--namespace", "monitoring", *words, policy=policy)):
        out.setdefault(one["kind"], []).append(one)
    return out


def exporter_of(manifests):
    pod = manifests["DaemonSet"][0]["spec"]["template"]["spec"]
    return pod, pod["containers"][0]


@unittest.skipIf(platform.machine() != "x86_64", "helm is there for x86_64 only")
class Chart(unittest.TestCase):
    def check(self, manifest):
        for release in RELEASES:
            with self.subTest(release=release, kind=manifest["kind"]):
                kubernetes_validate.validate(manifest, release, strict=True)

    def test_it_is_what_a_cluster_takes(self):
        helm("lint", "--strict", CHART)
        self.check(rendered()["DaemonSet"][0])
        privileged = rendered("--set", "privileged=true")
        self.check(privileged["DaemonSet"][0])
        self.assertEqual(exporter_of(privileged)[1]["securityContext"], {"readOnlyRootFilesystem": True, "privileged": True})
        for kind, manifests in rendered(*ALL, policy=POLICY).items():
            for manifest in manifests:
                self.assertEqual(manifest["metadata"]["namespace"], "monitoring")
                if manifest["apiVersion"] not in OPERATORS:
                    self.check(manifest)

    def test_only_what_is_asked_for(self):
        self.assertEqual(list(rendered()), ["DaemonSet"])
        pod, exporter = exporter_of(rendered())
        self.assertNotIn("NCCL_NET_DIAG_POLICY", [one["name"] for one in exporter["env"]])
        self.assertEqual([one["name"] for one in pod["volumes"]], ["tmp"])
        self.assertNotIn("privileged", exporter["securityContext"])

    def test_the_schemas_find_what_is_wrong(self):
        wrong = rendered()["DaemonSet"][0]
        wrong["spec"]["template"]["spec"]["hostPid"] = True
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(wrong, RELEASES[-1], strict=True)

    def test_the_policy_is_the_file(self):
        manifests = rendered(*ALL, policy=POLICY)
        maps = {one["metadata"]["name"]: one["data"] for one in manifests["ConfigMap"]}
        self.assertEqual(maps["diag-policy"], {"policy.toml": POLICY})
        pod, exporter = exporter_of(manifests)
        file = next(one["value"] for one in exporter["env"] if one["name"] == "NCCL_NET_DIAG_POLICY")
        mounted = {one["name"]: one["mountPath"] for one in exporter["volumeMounts"]}
        self.assertEqual(file, mounted["policy"] + "/policy.toml")
        self.assertEqual(next(one for one in pod["volumes"] if one["name"] == "policy")["configMap"]["name"], "diag-policy")
        hashes = {yaml.dump(rendered(*ALL, policy=text)["DaemonSet"][0]["spec"]["template"]["metadata"]) for text in (POLICY, POLICY + "\n#")}
        self.assertEqual(len(hashes), 2)  # a new policy makes new pods

    def test_alerts_and_dashboards_are_the_files(self):
        manifests = rendered(*ALL, policy=POLICY)
        rules = yaml.safe_load((EXAMPLES / "prometheus" / "nccl-net-diag.rules.yml").read_text())
        self.assertEqual(manifests["PrometheusRule"][0]["spec"], rules)
        boards = {name: text for one in manifests["ConfigMap"] for name, text in one["data"].items() if name.endswith(".json")}
        self.assertEqual({name: yaml.safe_load(text) for name, text in boards.items()},
                         {"nccl-net-diag-" + file.name: yaml.safe_load(file.read_text()) for file in (EXAMPLES / "grafana").glob("*.json")})

    def test_the_scrape_finds_the_pods(self):
        manifests = rendered(*ALL, policy=POLICY)
        template = manifests["DaemonSet"][0]["spec"]["template"]
        monitor = manifests["PodMonitor"][0]
        self.assertLessEqual(monitor["spec"]["selector"]["matchLabels"].items(), template["metadata"]["labels"].items())
        self.assertIn(monitor["spec"]["podMetricsEndpoints"][0]["port"], [one["name"] for one in template["spec"]["containers"][0]["ports"]])
        self.assertEqual(monitor["metadata"]["labels"]["release"], "prometheus")


class Manifests(unittest.TestCase):
    """Those of examples/ that are there to be copied; what an operator makes of its own kinds are pods."""

    def pods(self, manifest):
        if manifest["kind"] == "Pod":
            return [manifest["spec"]]
        return [replica["template"]["spec"] for name, replicas in manifest["spec"].items() if name.endswith("ReplicaSpecs")
                for replica in replicas.values()]

    def test_they_are_what_a_cluster_takes(self):
        seen = set()
        for file in (*EXAMPLES.glob("kubernetes*/*.yaml"), *EXAMPLES.glob("kubeflow/*.yaml")):
            for manifest in yaml.safe_load_all(file.read_text()):
                seen.add(manifest["kind"])
                checked = [manifest]
                if manifest["apiVersion"] in OPERATORS:
                    checked = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "it"}, "spec": spec} for spec in self.pods(manifest)]
                    self.assertTrue(checked)
                for one in checked:
                    for release in RELEASES[1:]:  # a sidecar is a thing of 1.29
                        with self.subTest(file=file.name, release=release):
                            kubernetes_validate.validate(one, release, strict=True)
        self.assertEqual(seen, {"Pod", "ConfigMap", "PyTorchJob", "MPIJob"})

    def test_what_is_mounted_is_there(self):
        for file in (*EXAMPLES.glob("kubernetes*/*.yaml"), *EXAMPLES.glob("kubeflow/*.yaml")):
            for manifest in yaml.safe_load_all(file.read_text()):
                for pod in [] if manifest["kind"] == "ConfigMap" else self.pods(manifest):
                    volumes = {one["name"] for one in pod["volumes"]}
                    for container in pod.get("initContainers", []) + pod["containers"]:
                        self.assertLessEqual({one["name"] for one in container.get("volumeMounts", [])}, volumes, file)

    def test_ranks_load_the_plugin_and_log_together(self):
        torch, mpi = (yaml.safe_load((EXAMPLES / "kubeflow" / name).read_text())["spec"] for name in ("pytorchjob.yaml", "mpijob.yaml"))
        for replica in torch["pytorchReplicaSpecs"].values():
            said = {one["name"]: one["value"] for one in replica["template"]["spec"]["containers"][0]["env"]}
            self.assertEqual((said["NCCL_NET_PLUGIN"], said["NCCL_NET_PLUGIN_REF_COUNT"]), ("diag", "1"))
            self.assertIn("persistentVolumeClaim", str(replica["template"]["spec"]["volumes"]))
        script = mpi["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["args"][0]
        self.assertEqual(subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode, 0)
        for word in ("-x NCCL_NET_PLUGIN=diag", "-x NCCL_NET_PLUGIN_REF_COUNT=1", "-x NCCL_NET_DIAG_FILE="):
            self.assertIn(word, script)


@unittest.skipIf(platform.machine() != "x86_64", "helm is there for x86_64 only")
@unittest.skipIf(os.geteuid() != 0, "only root makes containers")
class Pod(Exported):
    # A container has places of its own: nothing of the job is found by its name.
    OWN_PLACES = 'mount --make-rprivate / && mount -t tmpfs it /tmp && mkdir "$TMPDIR" && exec "$@"'
    READ_ONLY = 'mount --make-rprivate / && mount -o remount,bind,ro / && mount -t tmpfs it /tmp && exec "$@"'

    def setUp(self):
        super().setUp()
        if subprocess.run(["unshare", "--mount", "sh", "-c", self.READ_ONLY, "sh", "true"], capture_output=True, check=False).returncode:
            self.skipTest("no mount namespace here")
        # Where the job's container mounts its own /tmp this isn't seen, and the tool is elsewhere.
        self.assertFalse(str(TOOL).startswith("/tmp/"), TOOL)

    def contained(self, script, *words, **more):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NCCL")}
        process = subprocess.Popen(["unshare", "--mount", "sh", "-c", script, "sh", *map(str, words)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                                   env=environment | {"TMPDIR": str(self.dir)} | more)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

    def start_exporter(self, capabilities):
        """As the DaemonSet has it, on a port that is free. Its address."""
        _, exporter = exporter_of(rendered("--set", "port=0,every=1"))
        command = [TOOL if word == "nccl-net-diag" else word.replace("$(NODE_ADDRESS)", "127.0.0.1") for word in exporter["command"]]
        bounds = ",".join(["-all", *("+" + one.lower() for one in capabilities)])
        process = self.contained(self.READ_ONLY, "setpriv", "--bounding-set", bounds, "--inh-caps=-all", "--no-new-privs", *command)
        for line in process.stderr:
            if found := re.search(r"http://[0-9.]+:[0-9]+", line):
                return found.group(0)
        return self.fail("it does not say where it listens")

    def processes(self, address):
        with urllib.request.urlopen(address + "/metrics", timeout=BOUND_SEC) as answer:
            text = answer.read().decode()
        return [float(line.split()[-1]) for line in text.splitlines()
                if line.startswith("nccl_net_diag_processes{") and f'hpc_job="{self.job}"' in line]

    def test_a_job_in_another_container(self):
        _, exporter = exporter_of(rendered())
        rights = exporter["securityContext"]["capabilities"]
        self.assertEqual((rights["drop"], exporter["securityContext"]["allowPrivilegeEscalation"]), (["ALL"], False))
        with_them, without = self.start_exporter(rights["add"]), self.start_exporter([])
        self.job = str(os.getpid())
        self.process = self.contained(self.OWN_PLACES, TOOL, "rehearse", "--scenario", SCENARIO, "--json", "--quiet", "--iterations",
                                      "1000000", "--deadline", "3600", "--logs", self.dir / "logs", SLURM_JOB_ID=self.job)
        self.until(lambda: self.processes(with_them) == [2])
        self.assertEqual(self.processes(without), [])  # what the DaemonSet asks for is needed


if __name__ == "__main__":
    if not (FETCHED / "helm").exists() and platform.machine() == "x86_64":
        print("SKIPPED: no helm; test/kubernetes/fetch-kubernetes fetches it")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *({"rendered": ("Chart", "Manifests"), "pod": ("Pod",)}[sys.argv[2]])], verbosity=2)
