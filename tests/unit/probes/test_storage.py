from __future__ import annotations

from pathlib import Path

from slowdust.probes.host.use import find_block_device, find_queue, mount_holding, parse_mounts

MOUNTINFO = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
40 27 8:1 / /data rw,noatime - xfs /dev/sda1 rw,noatime,attr2
41 27 8:2 / /data\040two rw - ext4 /dev/sda2 rw
42 40 0:50 / /data/over rw - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w
43 40 8:3 / /data/over rw - ext4 /dev/sda3 rw
torn line
"""


def test_mounts_are_parsed_with_the_options_of_mount_and_filesystem() -> None:
    mounts = parse_mounts(MOUNTINFO)
    assert len(mounts) == 6
    assert mounts[2].options == ("rw", "noatime", "attr2")
    assert mounts[3].point == "/data two"
    assert mounts[4].options == ("rw", "lowerdir=/l", "upperdir=/u", "workdir=/w")


def test_the_deepest_and_last_mount_holds_a_directory() -> None:
    mounts = parse_mounts(MOUNTINFO)
    held = {
        "/nowhere/pg": "/dev/vda",
        "/data/pg": "/dev/sda1",
        "/data two/pg": "/dev/sda2",
        "/database": "/dev/vda",
        "/data/over/pg": "/dev/sda3",
    }
    for directory, source in held.items():
        mount = mount_holding(Path(directory), mounts)
        assert mount is not None
        assert mount.source == source
    assert mount_holding(Path("/data"), []) is None


def test_a_directory_without_a_block_device_has_none() -> None:
    assert find_block_device(Path("/proc")) is None


def test_a_partition_uses_the_queue_of_its_disk(tmp_path: Path) -> None:
    (tmp_path / "sda/queue").mkdir(parents=True)
    (tmp_path / "sda/sda1").mkdir()
    assert find_queue(tmp_path / "sda") == tmp_path / "sda/queue"
    assert find_queue(tmp_path / "sda/sda1") == tmp_path / "sda/queue"
