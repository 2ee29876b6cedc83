"""``metricdp stream``: what its actions say of themselves."""

from tests.cli_world import run


def test_an_action_is_called_by_its_name(capsys):
    ran = run(capsys, "stream", "step", "d.stream")
    assert ran.status == 2 and "(see metricdp stream step --help)" in ran.err
    ran = run(capsys, "stream", "step", "--help")
    assert ran.out.startswith("usage: metricdp stream step [-h]")
