"""In a container the cgroup's limit is the truth."""

from memfit.device.host import HostMemory, cgroup_memory, host_memory


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".", 1)).write_text(text)


def test_cgroup_2_the_tightest_level_counts(tmp_path):
    own = tmp_path / "own"
    own.write_text("0::/pod/container\n")
    write(tmp_path / "fs", memory_max="max\n")
    write(tmp_path / "fs/pod", memory_max="4000\n", memory_current="3000\n")
    write(tmp_path / "fs/pod/container", memory_max="8000\n", memory_current="2000\n")
    assert cgroup_memory(tmp_path / "fs", own) == (4000, 3000)


def test_cgroup_1_has_a_tree_for_memory(tmp_path):
    own = tmp_path / "own"
    own.write_text("12:cpu:/x\n5:memory:/box\n")
    write(tmp_path / "fs/memory/box")
    (tmp_path / "fs/memory/box/memory.limit_in_bytes").write_text("5000\n")
    (tmp_path / "fs/memory/box/memory.usage_in_bytes").write_text("1000\n")
    assert cgroup_memory(tmp_path / "fs", own) == (5000, 1000)


def test_no_cgroup_is_no_limit(tmp_path):
    assert cgroup_memory(tmp_path, tmp_path / "missing") == (None, None)


def test_the_smallest_room_is_what_is_free():
    host = HostMemory(total=100, available=80, rss=10, cgroup_limit=50, cgroup_used=20, rlimit=35)
    assert host.limit == 35
    assert host.free == 25


def test_this_machine_has_memory():
    host = host_memory()
    assert 0 < host.rss < host.limit <= host.total
    assert host.free > 0
