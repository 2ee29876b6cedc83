"""Work in threads."""

from metricdp.threads import in_threads


def test_work_inside_of_work_does_not_wait_for_itself():
    found: list[int] = []
    in_threads(lambda item: in_threads(found.append, [item, -item]), range(5))
    assert sorted(found) == [-4, -3, -2, -1, 0, 0, 1, 2, 3, 4]
