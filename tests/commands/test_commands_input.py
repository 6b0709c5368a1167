"""Tables and rows: whatever their form, a model gets the same."""

import gzip

import numpy as np
import pandas as pd
import pytest
from command_line import FEATURES, TARGET, make_rows, type_in
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from secateurs import load, prune, save
from secateurs.commands._column_types import ColumnTypes
from secateurs.commands._labelled_samples import parse_classes, read_samples
from secateurs.commands._table_files import file_format, read_table
from secateurs.commands.command_errors import Refusal
from secateurs.ensembles import as_ensemble


@pytest.fixture
def known(desk):
    return as_ensemble(load("forest.skops"))


@pytest.mark.parametrize(
    "name", ["val.csv", "val.csv.gz", "val.parquet", "shuffled.csv", "bom.csv"]
)
def test_the_form_of_the_table_does_not_matter(desk, known, name):
    X, y = make_rows(120, 1)
    frame = X.assign(**{TARGET: y})
    frame.to_csv("val.csv.gz", index=False)
    frame[sorted(frame.columns)].to_csv("shuffled.csv", index=False)
    frame.to_csv("bom.csv", index=False, encoding="utf-8-sig")
    found_X, found_y = read_samples(desk / name, known, TARGET)
    assert found_X.columns.tolist() == FEATURES
    assert found_X.to_numpy().tolist() == X.to_numpy().tolist()
    assert found_y.tolist() == y.tolist()


def test_columns_that_are_no_features_can_be_left_out(desk, known):
    X, y = make_rows(40, 3)
    X.assign(id=range(40), **{TARGET: y}).to_csv("with-id.csv", index=False)
    with pytest.raises(
        Refusal, match=r"unknown to the model: id\. Leave them out with: --ignore id"
    ):
        read_samples(desk / "with-id.csv", known, TARGET)
    found, _ = read_samples(desk / "with-id.csv", known, TARGET, ["id"])
    assert found.columns.tolist() == FEATURES


def test_a_class_may_be_called_as_gaps_are(desk):
    X, y = make_rows(90, 0)
    named = np.select([y == "left", y == "stays"], ["NA", "None"], "nan")
    model = RandomForestClassifier(3, random_state=0).fit(X, named)
    X.assign(y=named).to_csv("rows.csv", index=False)
    _, found = read_samples(desk / "rows.csv", as_ensemble(model), "y")
    assert found.tolist() == named.tolist()


@pytest.mark.parametrize(
    ("classes", "texts", "expected"),
    [
        ([3, 7], ["3", "7.0", " 7", "7e0"], [3, 7, 7, 7]),
        ([0.0, 1.0], ["0", "1", "1.0"], [0.0, 1.0, 1.0]),
        ([False, True], ["True", "false", "1", "0"], [True, False, True, False]),
        (["01", "1"], ["1", "01"], ["1", "01"]),
        (["None", "nan", "NA", ""], ["NA", "nan", "None", ""], ["NA", "nan", "None", ""]),
    ],
)
def test_labels_are_read_as_the_model_knows_them(classes, texts, expected):
    found = parse_classes(texts, np.array(classes), "here")
    assert found.tolist() == expected
    assert found.dtype == np.array(classes).dtype


@pytest.mark.parametrize(
    ("classes", "texts", "message"),
    [
        ([1, 2], ["1", "1.5"], r"unknown to the model: 1.5 \(first in row 2\). Known labels: 1, 2"),
        ([1, 2], ["nan", "1"], r"unknown to the model: nan \(first in row 1\)"),
        (["a"], list("gfedcba"), r"model: b, c, d, e, f, … \(6 in total\) \(first in row 1\)"),
        (["a", "b"], ["a", "", "b"], "here, row 2 is empty"),
    ],
)
def test_labels_that_the_model_never_saw_are_refused(classes, texts, message):
    with pytest.raises(Refusal, match=message):
        parse_classes(texts, np.array(classes), "here")


def test_a_model_without_names_takes_columns_in_their_order(desk):
    X, y = make_rows(60, 0)
    model = BaggingClassifier(n_estimators=3, random_state=0).fit(X.to_numpy(), y)
    X.assign(y=y).to_csv("rows.csv", index=False)
    found, _ = read_samples(desk / "rows.csv", as_ensemble(model), "y")
    assert isinstance(found, np.ndarray)
    assert found.tolist() == X.to_numpy().tolist()


def test_gaps_reach_a_model_that_takes_them(desk):
    X, y = make_rows(60, 0)
    X.loc[::7, "age"] = np.nan
    model = RandomForestClassifier(3, random_state=0).fit(X, y)
    X.assign(y=y).to_csv("rows.csv", index=False)
    found, _ = read_samples(desk / "rows.csv", as_ensemble(model), "y")
    assert found["age"].isna().tolist() == X["age"].isna().tolist()


def test_the_first_bytes_tell_the_format(desk):
    names = {"val.csv": "csv", "val.parquet": "parquet", "val-votes.npz": "zip"}
    for name, kind in names.items():
        assert file_format(desk / name) == kind
    (desk / "odd.data").write_bytes((desk / "val.parquet").read_bytes())
    assert file_format(desk / "odd.data") == "parquet"
    assert read_table(desk / "odd.data").shape == (120, 5)


BAD_TABLES = {
    "no names": (b"\n\n", "has no column names"),
    "nothing": (b"", "is empty"),
    "names only": (b"a,b\n", "has column names but no rows"),
    "two alike": (b"a,b,a\n1,2,3\n", "has two columns named 'a': 1 and 3."),
    "no name": (b",b\n1,2\n", "column 1 has no name"),
    "semicolons": (b"a;b\n1;2\n", "separated by ';'"),
    "too many": (b"a,b\n1,2\n1,2,3\n", "line 3 has 3 fields"),
    "too many everywhere": (b"a,b\n1,2,3\n4,5,6\n", "too many fields|line 2 has 3 fields"),
    "latin": ("a,b\nö,2\n".encode("latin-1"), "is not UTF-8 text"),
    "latin names": ("ö,b\n1,2\n".encode("latin-1"), "is not UTF-8 text"),
    "zeros": (b"a,b\n1,\x002\n", "contains binary data"),
    "cut gzip": (
        gzip.compress(b"a,b\n" + b"1,2\n" * 5000)[:30],
        "cannot be read|cannot be unpacked",
    ),
    "odd gzip": (b"\x1f\x8b\x08\x00" + b"x" * 60, "cannot be read"),
    "open quote": (b'a,b\n"1,2\n3,4\n', "cannot be read: .*EOF inside string"),
    "bzip2": (b"BZh91AY", "contains bzip2"),
    "no parquet": (b"PAR1 and nothing else", "cannot be read"),
    "a zip": (b"PK\x03\x04 and nothing else", "is not a table"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_what_is_no_table_is_refused(desk, name):
    content, message = BAD_TABLES[name]
    path = desk / "table.csv"
    path.write_bytes(content)
    with pytest.raises(Exception, match=message) as caught:
        read_table(path)
    assert caught.value.exit_code == 3
    assert "table.csv" in str(caught.value)


@pytest.mark.parametrize("suffix", [".parquet", ".npy", ".npz", ".csv.gz"])
def test_a_name_that_lies_is_refused(desk, suffix):
    path = desk / f"table{suffix}"
    path.write_text("a,b\n1,2\n")
    hint = ", predictions also as .npy or .npz" if suffix.startswith(".np") else ""
    with pytest.raises(Refusal, match=rf"contains csv\. Pass a table .* or \.parquet{hint}\.$"):
        file_format(path)


def test_a_frame_index_is_no_feature(desk):
    pd.DataFrame({"a": [1, 2]}, index=pd.Index([5, 6], name="id")).to_parquet("table.parquet")
    assert read_table(desk / "table.parquet").columns.tolist() == ["a"]


POSTCODES = ["01234", "1234", "99999", "55555"]


def postcode_rows(n_rows=120):
    """Rows in which 01234 and 1234 are two postcodes, and only text tells them apart."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": rng.normal(size=n_rows), "postcode": rng.choice(POSTCODES, n_rows)}
    )
    frame.loc[5, "postcode"] = None
    y = np.where(frame["postcode"].isin(POSTCODES[:1]) | (frame["age"] > 1), "yes", "no")
    return frame.astype({"postcode": object}), y


FOREST = RandomForestClassifier(4, random_state=0)
ENCODERS = {
    "one hot": OneHotEncoder(handle_unknown="ignore"),
    "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "imputed": make_pipeline(
        SimpleImputer(strategy="most_frequent", missing_values=None), OneHotEncoder()
    ),
}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_digits_are_text_where_the_encoder_knows_text(desk, encoder, suffix):
    X, y = postcode_rows()
    table = ColumnTransformer([("code", ENCODERS[encoder], ["postcode"])], remainder="passthrough")
    if encoder == "imputed":
        X["postcode"] = X["postcode"].fillna("99999")
    model = make_pipeline(table, FOREST).fit(X, y)
    rows = X.assign(y=y)
    rows.to_csv("rows.csv", index=False) if suffix == "csv" else rows.to_parquet("rows.parquet")
    found, _ = read_samples(desk / f"rows.{suffix}", as_ensemble(model), "y")
    there = X["postcode"].notna()
    assert found["postcode"][there].tolist() == X["postcode"][there].tolist()
    assert found["postcode"].isna().tolist() == (~there).tolist()
    same = model.predict_proba(found) == model.predict_proba(X)
    assert same[there].all()  # older encoders tell a missing None from a missing NaN


@pytest.mark.parametrize("kind", ["vote", "list", "search", "bagging", "by place", "union"])
def test_what_is_text_is_found_wherever_the_encoder_is(desk, kind):
    X, y = postcode_rows()
    table = ColumnTransformer(
        [("code", ENCODERS["one hot"], ["postcode"])], remainder="passthrough"
    )
    one, other = make_pipeline(table, FOREST), make_pipeline(table, LogisticRegression())
    encode = OneHotEncoder(handle_unknown="ignore")
    model = {
        "vote": lambda: VotingClassifier([("one", one), ("other", other)]).fit(X, y),
        "list": lambda: [one.fit(X, y), other.fit(X, y)],
        "search": lambda: [GridSearchCV(one, {}, cv=2).fit(X, y), other.fit(X, y)],
        "bagging": lambda: BaggingClassifier(
            make_pipeline(encode, LogisticRegression()), 3, random_state=0
        ).fit(X.fillna("none"), y),
        "by place": lambda: make_pipeline(
            ColumnTransformer([("code", encode, [1])], remainder="passthrough"), FOREST
        ).fit(X.to_numpy(), y),
        "union": lambda: make_pipeline(make_union(encode), FOREST).fit(X, y),
    }[kind]()
    X.assign(y=y).fillna("none").to_csv("rows.csv", index=False)
    found, _ = read_samples(desk / "rows.csv", as_ensemble(model), "y")
    assert {*POSTCODES, "none"} == set(found["postcode"])


def test_columns_of_numbers_stay_numbers(desk):
    X, y = postcode_rows()
    X["rooms"] = np.arange(len(X)) % 3
    table = ColumnTransformer([("code", OneHotEncoder(), ["rooms"])], remainder="drop")
    model = make_pipeline(table, FOREST).fit(X, y)
    X.assign(y=y).to_csv("rows.csv", index=False)
    found, _ = read_samples(desk / "rows.csv", as_ensemble(model), "y")
    assert found["rooms"].tolist() == X["rooms"].tolist()


class Upper(TransformerMixin, BaseEstimator):
    """A step of one's own, whose columns nobody can tell."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return np.stack([X["age"], [str(code).startswith("0") for code in X["postcode"]]], axis=1)


def test_types_can_be_given_and_are_noted_for_the_next_time(desk):
    X, y = postcode_rows()
    X["postcode"] = X["postcode"].fillna("99999")
    model = make_pipeline(Upper(), FOREST).fit(X, y)
    X.assign(y=y).to_csv("rows.csv", index=False)
    known = as_ensemble(model)
    guessed, _ = read_samples(desk / "rows.csv", known, "y")
    assert guessed["postcode"].dtype.kind == "i"
    given = ColumnTypes.from_ensemble(known, None, [("postcode", "str")])
    found, _ = read_samples(desk / "rows.csv", known, "y", types=given)
    assert found["postcode"].tolist() == X["postcode"].tolist()
    prune(model, X, y, "re", keep=2).save("small.skops")
    noted = ColumnTypes.from_ensemble(known, desk / "small.skops", [])
    again, _ = read_samples(desk / "rows.csv", known, "y", types=noted)
    assert again["postcode"].tolist() == X["postcode"].tolist()


def test_dtype_overrules_what_a_column_looks_like(desk):
    frame = pd.DataFrame({"a": [1, 0, 1], "b": [1.5, 2.0, 3.0], "c": ["7", "x", "8"]})
    frame.to_csv("rows.csv", index=False)
    types = {"a": "bool", "b": "str", "c": "category"}
    found = read_table(desk / "rows.csv", types_of=ColumnTypes(given_types=types))
    assert found["a"].tolist() == [True, False, True]
    assert found["b"].tolist() == ["1.5", "2.0", "3.0"]
    assert found["c"].cat.categories.tolist() == ["7", "8", "x"]
    wrong = {
        ("b", "int"): "column 'b', row 1: '1.5' is not a valid int",
        ("c", "float"): "column 'c', row 2: 'x' is not a valid float",
        ("b", "bool"): "'1.5' is not a valid bool",
        ("d", "str"): "no column 'd'",
    }
    for (name, kind), told in wrong.items():
        with pytest.raises(Refusal, match=told):
            read_table(desk / "rows.csv", types_of=ColumnTypes(given_types={name: kind}))


def test_dtype_is_an_option_of_every_command_that_reads_rows(desk):
    X, y = postcode_rows()
    X["postcode"] = X["postcode"].fillna("99999")
    table = ColumnTransformer([("code", OneHotEncoder(), ["postcode"])], remainder="passthrough")
    save(make_pipeline(table, FOREST).fit(X, y), "codes.skops")
    X.assign(y=y).to_csv("codes.csv", index=False)
    words = ("codes.skops", "codes.csv", "-t", "y", "-k", "2")
    assert type_in("prune", *words).code == 0
    ended = type_in("prune", *words, "--force", "--dtype", "postcode=int")
    assert ended.code == 3
    assert "If a column has another type than in training, pass --dtype" in ended.err
    for wrong in ("postcode", "postcode=text", "=str"):
        ended = type_in("prune", *words, "--dtype", wrong)
        assert ended.code == 2
        assert "Pass COL=TYPE, such as postcode=str; types are str, category, int" in ended.err
    assert type_in("prune", *words, "--dtype", "y=str").code == 2
    ended = type_in("prune", "--predictions", "val-votes.npz", "--dtype", "a=str", "-k", "2")
    assert (ended.code, "--dtype applies to columns of DATA" in ended.err) == (2, True)
    ended = type_in("compare", *words, "--dtype", "postcode=str", "--pruner", "re")
    assert ended.code == 0, ended.err
