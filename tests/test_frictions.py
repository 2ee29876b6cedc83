"""What stopped people who tried metricdp, and the names of the tests that fail where it comes back.

They tried it as analysts, network scientists, operations researchers and privacy officers. Tests of
browsers need Chromium, those of QGIS `qgis_process`; without them they are skipped with a reason.
"""

import re
from pathlib import Path

FRICTIONS = {
    # Geography in
    "GeoPackage, GeoJSON, GeoParquet, Shapefile were no demand and no network": (
        "lines_with_ids_are_edges points_of_degrees_come_to_their_corners"
    ),
    "An OSMnx graph lost its coordinate system": "an_osmnx_graph_keeps_its_system",
    "Unlike systems were mixed": (
        "unlike_systems_are_named_both meters_taken_for_degrees_are_refused"
    ),
    "Swapped axes spent the whole budget on nonsense": "axis_names_of_tables_are_read a_stated_box",
    "Records far away were moved to some vertex": "far_records_are_left_out_each_by_itself",
    "One of several columns of lengths was taken": "all_options_at_once",
    "The line `read …` named neither column nor unit of lengths": (
        "the_command_line_names_it "
        "private_centers_have_a_receipt_and_stderr_tells_only_public_facts_and_the_price"
    ),
    "One-way streets lost their direction": "one_way_streets_are_directed",
    # Geography out
    "Nothing opened in QGIS": (
        "ogrinfo_reads_it qgis_finds_each_site_in_its_territory a_plan_is_made_and_judged_in_qgis"
    ),
    "A coreset in meters became longitude and latitude": (
        "plane_coordinates_never_become_longitude_and_latitude"
    ),
    "An ending that is not known was written as JSON": (
        "an_unknown_ending_is_refused_before_the_charge"
    ),
    "Coordinates were missing": "sites_are_where_they_are_in_every_format",
    "Files did not tell the unit of lengths": ("solutions_their_tables_and_geopackages_name_it"),
    # Nothing paid is lost
    "A release that was paid for was lost with Ctrl-C": (
        "interrupted_at_any_moment_it_is_saved_or_not_paid "
        "the_release_is_beside_the_ledger_by_default"
    ),
    "Ctrl-C was reported as bad records, status 2": (
        "what_duckdb_makes_of_it_is_an_interruption "
        "what_libraries_make_of_it_is_an_interruption_and_an_end_is_an_end"
    ),
    "Another k had to be paid again": "the_same_answers_and_receipt public_and_private",
    "A full disk lost the result": "a_result_is_reported_even_if_its_files_fail a_full_stdout",
    "A delta that only caps use was refused after an empty ledger was made": (
        "a_delta_that_only_caps_use_is_refused_before_anything_is_made"
    ),
    # Pages
    "The map's buttons were dead": (
        "every_button_answers_to_the_mouse keys_move_the_map "
        "fingers_reach_every_button_and_a_tap_tells_what_hovering_tells"
    ),
    "A print showed centers in the sea, over several sheets": (
        "print_is_one_sheet_and_shows_what_the_screen_does"
    ),
    "Colors were not distinguished in deuteranopia": (
        "any_two_colors_are_distinguished_without_any_kind_of_cone"
    ),
    "Screen readers could not tell centers apart": (
        "buttons_of_centers_are_distinguished_by_those_who_hear_them"
    ),
    "The mean distance had neither interval nor unit": (
        "an_evaluation_gives_intervals_of_loads_and_of_the_mean_distance"
    ),
    "Numbers lay on each other": "markers_that_would_lie_on_each_other_are_smaller",
    "No dark mode": "colors_of_the_screen_are_followed",
    # The command line
    "A graph was refused for one missing option after the other": "all_options_at_once",
    "Progress left remnants and broke words; silence for long": (
        "silence_is_ended_and_the_line_leaves_nothing notes_wrap_at_words_on_a_terminal_alone "
        "compiling_is_said"
    ),
    "Figures of `evaluate` stood on one line with escapes in it": (
        "private_figures_their_receipt_and_the_ledger"
    ),
    "A ledger could not be looked at; units were mixed in it": (
        "show_prints_the_history what_a_ledger_is_about_is_not_mixed"
    ),
    "No name for a graph, no completion": ("all_options_at_once a_shell_gets_completions"),
    "The help test failed at 140 and 200 columns": "help_texts",
    "From clone to map took wrong turns": "one_command_from_an_osmnx_graph_and_homes_to_a_map",
    # Notebooks and scikit-learn
    "Results were reported as text alone": "tables_and_graphs html_holds_no_markup_of_ids",
    "An extra did not bring what the notebooks need": "the_extra_brings_what_the_notebooks_import",
    "Bounds might mean two boxes": "what_may_mean_two_boxes_is_lower_and_upper",
    "A grid search spent in silence": "scores_warn_in_a_search_too",
    "Too few records for what is asked": (
        "too_few_records_are_reported_from_the_noisy_count a_noisy_number_that_is_too_small_is_said"
    ),
}


def test_every_friction_has_tests_that_exist():
    texts = [path.read_text("utf-8") for path in Path(__file__).parent.rglob("test_*.py")]
    there = set(re.findall(r"^def test_(\w+)\(", "\n".join(texts), re.MULTILINE))
    assert len(FRICTIONS) >= 35 and all(FRICTIONS.values())
    assert {name for names in FRICTIONS.values() for name in names.split()} <= there
