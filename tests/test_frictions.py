"""What stopped people who tried metricdp, and the tests that fail where it comes back.

They tried it as analysts, network scientists, operations researchers and privacy officers. Tests of
browsers need Chromium, those of QGIS `qgis_process`; without them they are skipped with a reason.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]

FRICTIONS = {
    # Geography in
    "GeoPackage, GeoJSON, GeoParquet, Shapefile were no demand and no network": [
        "tests/universe/test_geographic.py::test_lines_with_ids_are_edges",
        "tests/records/test_geographic.py::test_points_of_degrees_come_to_their_corners",
    ],
    "An OSMnx graph lost its coordinate system": [
        "tests/universe/test_geographic.py::test_an_osmnx_graph_keeps_its_system"
    ],
    "Unlike systems were mixed": [
        "tests/records/test_geographic.py::test_unlike_systems_are_named_both",
        "tests/records/test_geographic.py::test_meters_taken_for_degrees_are_refused",
    ],
    "Swapped axes spent the whole budget on nonsense": [
        "tests/records/test_geographic.py::test_axis_names_of_tables_are_read",
        "tests/records/test_geographic.py::test_a_stated_box",
    ],
    "Records far away were moved to some vertex": [
        "tests/records/test_geographic.py::test_far_records_are_left_out_each_by_itself"
    ],
    "One of several columns of lengths was taken": [
        "tests/cli/test_refusals.py::test_all_options_at_once"
    ],
    "The line `read …` told neither column nor unit of lengths": [
        "tests/test_units.py::test_the_command_line_names_it",
        "tests/cli/test_commands.py::test_stderr_tells_public_facts_the_price_and_nothing_private",
    ],
    "One-way streets lost their direction": [
        "tests/universe/test_geographic.py::test_one_way_streets_are_directed"
    ],
    # Geography out
    "Nothing opened in QGIS": [
        "tests/report/test_plan_files.py::test_ogrinfo_reads_it",
        "tests/report/test_plan_files.py::test_qgis_finds_each_site_in_its_territory",
        "tests/test_qgis.py::test_a_plan_is_made_and_judged_in_qgis",
    ],
    "A coreset in meters became longitude and latitude": [
        "tests/report/test_plan_files.py::test_plane_coordinates_never_become_longitude_and_latitude"
    ],
    "An ending that is not known was written as JSON": [
        "tests/report/test_plan_files.py::test_an_unknown_ending_is_refused_before_the_charge"
    ],
    "Coordinates were missing": [
        "tests/report/test_plan_files.py::test_sites_are_where_they_are_in_every_format"
    ],
    "Files did not tell the unit of lengths": [
        "tests/test_units.py::test_tables_of_centers_and_solutions_name_it",
        "tests/test_units.py::test_the_geopackage_names_it",
    ],
    # Nothing paid is lost
    "A release that was paid for was lost with Ctrl-C": [
        "tests/test_interruption.py::test_interrupted_at_any_moment_it_is_saved_or_not_paid",
        "tests/test_interruption.py::test_the_release_is_beside_the_ledger_by_default",
    ],
    "Ctrl-C was told as bad records, status 2": [
        "tests/test_interruption.py::test_what_duckdb_makes_of_it_is_an_interruption",
        "tests/test_interruption.py::test_what_libraries_make_of_it_is_an_interruption_and_an_end_is_an_end",
    ],
    "Another k had to be paid again": [
        "tests/methods/test_saving.py::test_the_same_answers_and_receipt",
        "tests/cli/test_objectives.py::test_public_and_private",
    ],
    "A full disk lost the result": [
        "tests/cli/test_commands.py::test_a_result_is_told_even_if_its_files_fail",
        "tests/cli/test_commands.py::test_a_full_stdout",
    ],
    "A delta that only caps use was refused after an empty ledger was made": [
        "tests/cli/test_caps.py::test_a_delta_that_only_caps_use_is_refused_before_anything_is_made"
    ],
    # Pages
    "The map's buttons were dead": [
        "tests/report/map/test_controls.py::test_every_button_answers_to_the_mouse",
        "tests/report/map/test_controls.py::test_every_button_answers_to_fingers",
        "tests/report/map/test_controls.py::test_keys_move_the_map",
    ],
    "A print showed centers in the sea, over several sheets": [
        "tests/report/map/test_controls.py::test_print_is_one_sheet_and_shows_what_the_screen_does"
    ],
    "Colors were not told apart in deuteranopia": [
        "tests/report/test_colors.py::test_any_two_colors_are_told_apart_without_any_kind_of_cone"
    ],
    "Screen readers could not tell centers apart": [
        "tests/report/map/test_map.py::test_buttons_of_centers_are_told_apart_by_those_who_hear_them"
    ],
    "The mean distance had neither interval nor unit": [
        "tests/report/map/test_map.py::test_the_mean_distance_is_told_once_with_its_interval_and_its_unit"
    ],
    "Numbers lay on each other": [
        "tests/report/map/test_controls.py::test_markers_that_would_lie_on_each_other_are_smaller"
    ],
    "No dark mode": ["tests/report/map/test_controls.py::test_colors_of_the_screen_are_followed"],
    # The command line
    "A graph was refused for one missing option after the other": [
        "tests/cli/test_refusals.py::test_all_options_at_once"
    ],
    "Progress left remnants and broke words; silence for long": [
        "tests/test_progress.py::test_silence_is_ended_and_the_line_leaves_nothing",
        "tests/test_progress.py::test_notes_wrap_at_words_on_a_terminal_alone",
        "tests/test_progress.py::test_compiling_is_said",
    ],
    "Figures of `evaluate` stood on one line with escapes in it": [
        "tests/cli/test_evaluate.py::test_private_figures_their_receipt_and_the_ledger"
    ],
    "A ledger could not be looked at; units were mixed in it": [
        "tests/cli/test_ledger.py::test_show_prints_the_history",
        "tests/cli/test_ledger.py::test_what_a_ledger_is_about_is_not_mixed",
    ],
    "No name for a graph, no completion": [
        "tests/cli/test_refusals.py::test_the_graph_has_a_name_of_its_own",
        "tests/cli/test_refusals.py::test_a_shell_gets_completions",
    ],
    "The help test failed at 140 and 200 columns": ["tests/cli/test_commands.py::test_help_texts"],
    "From clone to map took wrong turns": [
        "tests/test_from_clone_to_map.py::test_one_command_from_an_osmnx_graph_and_homes_to_a_map"
    ],
    # Notebooks and scikit-learn
    "Results were told as text alone": [
        "tests/methods/test_views.py::test_tables_and_graphs",
        "tests/methods/test_views.py::test_html_holds_no_markup_of_ids",
    ],
    "An extra did not bring what the notebooks need": [
        "tests/test_notebook_extra.py::test_the_extra_brings_what_the_notebooks_import"
    ],
    "Bounds might mean two boxes": [
        "tests/test_sklearn_bounds.py::test_what_may_mean_two_boxes_is_lower_and_upper"
    ],
    "A grid search spent in silence": [
        "tests/test_sklearn_bounds.py::test_a_search_tells_once_what_it_spends_in_all"
    ],
    "Too few records for what is asked": [
        "tests/test_sklearn_bounds.py::test_too_few_records_are_told_from_the_noisy_count",
        "tests/cli/test_few_places.py::test_a_noisy_number_that_is_too_small_is_said",
    ],
}


def test_every_friction_has_tests_that_exist():
    assert len(FRICTIONS) >= 35 and all(FRICTIONS.values())
    named = [name.split("::") for names in FRICTIONS.values() for name in names]
    missing = [
        f"{file}::{test}"
        for file, test in named
        if not re.search(rf"^def {test}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE)
    ]
    assert missing == []
