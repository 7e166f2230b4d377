"""A Slurm of the test's own (with-slurm), until the test is over."""
import os
import pathlib
import subprocess


def started(place, more=""):
    """(why there is none, what ends it); `more`: lines of slurm.conf, which is in `place`."""
    place.mkdir()
    slurm = subprocess.Popen([pathlib.Path(__file__).with_name("with-slurm"), place, "sh", "-c", "echo it is up; exec sleep 3600"],
                             env=os.environ | {"SLURM_CONF_MORE": more}, stdout=subprocess.PIPE, text=True)

    def end():
        subprocess.run(["pkill", "-P", str(slurm.pid), "sleep"], check=False)  # its daemons end with it
        slurm.communicate()

    said = slurm.stdout.readline()
    return "" if said == "it is up\n" else said.strip(), end
