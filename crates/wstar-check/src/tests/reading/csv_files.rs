use crate::table::{TableOptions, read};
use crate::training_rows::TrainingRows;

use crate::tests::reading::schema;

const NUMBERS: &str = r#"{"origin":"table","columns":[{"name":"a","encoding":{"number":{"fill":null}}},
    {"name":"b","encoding":{"number":{"fill":7.5}}}],"features":2,"target":"y","positive":null,"sample_weight":null,"scaling":null}"#;

fn rows(text: &str, schema_text: &str, classes: &[&str]) -> Result<TrainingRows, String> {
    let read = read(
        text.as_bytes(),
        "f",
        &schema(schema_text, classes),
        TableOptions::default(),
    );
    read.map_err(|error| error.to_string())
}

fn numbers(text: &str) -> (Vec<f64>, Vec<f64>) {
    let rows = rows(text, NUMBERS, &[]).unwrap();
    (rows.design.values, rows.targets)
}

fn refusal(text: &str) -> String {
    rows(text, NUMBERS, &[]).map(|_| ()).unwrap_err()
}

#[test]
fn dialects_are_read_alike() {
    let expected = (vec![1.5, -2.0, 3.0, 40.0], vec![0.25, 1.0]);
    for text in [
        "a,b,y\n1.5,-2,.25\n3.,4e1,+1\n",
        "\u{feff}a;b;y\r\n1.5;-2;0.25\r\n\r\n  \r\n 3 ;40; 1.0",
        "y\tb\ta\tz\n0.25\t-2\t1.5\t\n\"1\"\t40\t3\t\"x",
        "\"a\"|\"b\"|y|\"\"\"\"\n1.5|\"-2\"|0.25|\"|\n\"\n3|40|1|",
    ] {
        assert_eq!(numbers(text), expected, "{text:?}");
    }
}

#[test]
fn missing_values_are_filled_or_refused() {
    for missing in ["", "?", "NA", "nan", "Null", "n/a", "\"\"", " NA "] {
        let text = format!("a,b,y\n1,{missing},2\n");
        assert_eq!(numbers(&text).0, [1.0, 7.5], "{missing:?}");
        let text = format!("b,a,y\n1,{missing},2\n");
        assert!(
            refusal(&text).contains("a missing value in column \"a\""),
            "{missing:?}"
        );
        let text = format!("a,b,y\n1,2,{missing}\n");
        assert!(refusal(&text).contains("the target is missing"), "{missing:?}");
    }
}

#[test]
fn rows_with_missing_values_are_left_out_on_request() {
    let options = TableOptions {
        drop_missing: true,
        ..TableOptions::default()
    };
    let text = "a,b,y\n1,,3\n,2,4\n5,6,NA\n7,8,9\n";
    let rows = read(text.as_bytes(), "f", &schema(NUMBERS, &[]), options).unwrap();
    assert_eq!(
        (rows.design.values, rows.targets),
        (vec![1.0, 7.5, 7.0, 8.0], vec![3.0, 9.0])
    );
    assert_eq!(rows.left_out, 2);
}

#[test]
fn doubtful_files_are_refused_with_their_position() {
    for (text, reason) in [
        ("", "f: the file is empty"),
        ("a,b,y\n", "f: there are no rows"),
        ("a,b\n1,2\n", "f: there is no column \"y\", which the model needs"),
        ("a,b,y,a\n1,2,3,4\n", "f: two columns are called \"a\""),
        ("a,b,y\n1,2\n", "f:2:1: 2 cells in this row where the first has 3"),
        (
            "a,b,y\n1,2,3\n\n1,2,3,\n",
            "f:4:1: 4 cells in this row where the first has 3",
        ),
        (
            "a,b,y\n1,two,3\n",
            "f:2:3: \"two\" is not a finite number, as column \"b\" needs",
        ),
        ("a,b,y\n1,\"2,3\n", "f:2:3: this quote is never closed"),
        (
            "a,b,y\n1,\"2\"3,4\n",
            "f:2:6: text follows the closing quote of a cell",
        ),
        (
            "a,b,y\n1,2,three\n",
            "f:2:5: \"three\" is not a number, and the target is one",
        ),
        (
            "a,b,y\n1,2,inf\n",
            "f:2:5: \"inf\" is not a number, and the target is one",
        ),
        (
            "a,b,y\n1e999,2,3\n",
            "f:2:1: \"1e999\" is not a finite number, as column \"a\" needs",
        ),
        (
            "a,b,y\n1e150,2,3\n",
            "f: row 1: 1e150 lies outside 1e-140 to 1e140 in size",
        ),
        (
            "a,b,y\n1,2,1e-150\n",
            "f: the target or weight 1e-150 lies outside 1e-140 to 1e140 in size",
        ),
        ("a,b,y\n1,2\0,3\n", "f:2:4: a NUL byte"),
        (
            "a,b,y\r1,2,3\r",
            "f: there is no column \"y\", which the model needs",
        ),
    ] {
        let found = refusal(text);
        assert!(found.starts_with(reason), "{text:?}: {found}");
    }
    let latin = read(
        b"a,b,y\n1,2,\xe9\n",
        "f",
        &schema(NUMBERS, &[]),
        TableOptions::default(),
    );
    assert_eq!(
        latin.map(|_| ()).unwrap_err().to_string(),
        "f:2:5: this is not UTF-8"
    );
}

#[test]
fn a_separator_that_is_not_certain_must_be_given() {
    let schema = schema(
        r#"{"origin":"table","columns":[{"name":"x1","encoding":{"number":{"fill":null}}}],"features":1,"target":"x2",
        "positive":null,"sample_weight":null,"scaling":null}"#,
        &[],
    );
    let text = b"1,5;2\n3,5;4\n";
    let with = |delimiter| {
        read(
            text,
            "f",
            &schema,
            TableOptions {
                delimiter,
                drop_missing: false,
            },
        )
    };
    let refused = with(None).map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        refused,
        "f: several separators fit the first line: the separator must be given"
    );
    assert!(with(Some(b',')).is_err(), "5;2 is not a number");
    let plain = read(b"1;2\n3;4\n", "f", &schema, TableOptions::default()).unwrap();
    assert_eq!(
        (plain.design.values, plain.targets),
        (vec![1.0, 3.0], vec![2.0, 4.0])
    );
    let header = read(b"x2;x1\n3;4\n", "f", &schema, TableOptions::default()).unwrap();
    assert_eq!((header.design.values, header.targets), (vec![4.0], vec![3.0]));
}

const CATEGORIES: &str = r#"{"origin":"table","columns":[
    {"name":"c","encoding":{"one-hot":{"levels":["1","blue","red"],"fill":"red"}}},
    {"name":"m","encoding":{"one-hot":{"levels":["no","yes"],"fill":null}}},
    {"name":"x","encoding":{"number":{"fill":null}}}],
    "features":5,"target":"y","positive":null,"sample_weight":"w","scaling":SCALING}"#;

#[test]
fn categories_become_columns_without_zeros() {
    let schema = CATEGORIES.replace("SCALING", "null");
    let text = "w,c,m,x,y\n1,blue,yes,0,B\n0.5,1.0,no,3,A\n0,?,\"yes\",-1,B\n";
    let found = rows(text, &schema, &["A", "B"]).unwrap();
    assert_eq!(found.design.starts, [0, 2, 4, 7]);
    assert_eq!(found.design.columns, [1, 3, 0, 4, 2, 3, 4]);
    assert_eq!(found.design.values, [1.0, 1.0, 1.0, 3.0, 1.0, 1.0, -1.0]);
    assert_eq!(found.targets, [1.0, 0.0, 1.0]);
    assert_eq!(found.weights, Some(vec![1.0, 0.5, 0.0]));
    assert_eq!(found.counted(), 2);
    for (row, reason) in [
        (
            "1,green,yes,0,B",
            "\"green\" is not a category of the model in column \"c\"",
        ),
        ("1,red,,0,B", "a missing value in column \"m\""),
        ("1,red,no,0,C", "\"C\" is not a class of the model"),
        ("-1,red,no,0,B", "the sample weight is not a number from 0 on"),
        (",red,no,0,B", "the sample weight is not a number from 0 on"),
    ] {
        let found = rows(&format!("w,c,m,x,y\n{row}\n"), &schema, &["A", "B"]);
        let found = found.map(|_| ()).unwrap_err();
        assert!(found.contains(reason), "{row}: {found}");
    }
    let unweighted = rows("w,c,m,x,y\n0,red,no,0,B\n", &schema, &["A", "B"]);
    assert_eq!(unweighted.map(|_| ()).unwrap_err(), "f: every sample weight is 0");
}

#[test]
fn columns_are_standardised_as_the_engine_does() {
    let schema = CATEGORIES.replace(
        "SCALING",
        r#"{"shifts":[0.1,0.2,0.3,0.4,0.5],"factors":[3,7,11,13,17]}"#,
    );
    let found = rows("w,c,m,x,y\n1,blue,yes,0.7,B\n", &schema, &["A", "B"]).unwrap();
    assert!(found.design.columns.is_empty());
    let expected = [
        (0.0 - 0.1) * 3.0,
        (1.0 - 0.2) * 7.0,
        (0.0 - 0.3) * 11.0,
        (1.0 - 0.4) * 13.0,
        (0.7 - 0.5) * 17.0,
    ];
    assert_eq!(found.design.values, expected);
}

#[test]
fn one_class_against_the_rest_and_equal_numbers() {
    let text = NUMBERS.replace("\"positive\":null", "\"positive\":\"2\"");
    let data = "a,b,y\n1,1,2.0\n1,1,3\n1,1,other\n1,1,2\n";
    assert_eq!(
        rows(data, &text, &["rest", "2"]).unwrap().targets,
        [1.0, 0.0, 0.0, 1.0]
    );
    let classes = rows("a,b,y\n1,1,+1\n1,1,-1.0\n", NUMBERS, &["-1", "1"]);
    assert_eq!(classes.unwrap().targets, [1.0, 0.0]);
    let doubtful = rows("a,b,y\n1,1,1e0\n", NUMBERS, &["1", "1.0"]);
    assert!(
        doubtful
            .map(|_| ())
            .unwrap_err()
            .contains("the same number as several names")
    );
    assert_eq!(
        rows("a,b,y\n1,1,1.0\n", NUMBERS, &["1", "1.0"]).unwrap().targets,
        [1.0]
    );
}
