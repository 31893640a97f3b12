use crate::svmlight::read;
use crate::training_rows::TrainingRows;

use crate::tests::reading::schema;

fn rows(text: &str, base: u32) -> Result<TrainingRows, String> {
    let text_of_schema = format!(
        r#"{{"origin":{{"indexed":{{"base":{base}}}}},"columns":[],"features":4,"target":null,"positive":null,"sample_weight":null,
        "scaling":{{"shifts":[],"factors":[1,2,1,1]}}}}"#
    );
    read(text.as_bytes(), "f", &schema(&text_of_schema, &["-1", "1"])).map_err(|error| error.to_string())
}

#[test]
fn rows_are_sorted_and_zeros_left_out() {
    let text = "# a comment\n\n+1 4:4 2:0.5 # note 9:9\r\n-1.0\tqid:7 1:0 3:-3\n1\n-1 1:1#x";
    let found = rows(text, 1).unwrap();
    assert_eq!(found.targets, [1.0, 0.0, 1.0, 0.0]);
    assert_eq!(found.design.starts, [0, 2, 3, 3, 4]);
    assert_eq!(found.design.columns, [1, 3, 2, 0]);
    assert_eq!(found.design.values, [1.0, 4.0, -3.0, 1.0]);
    assert_eq!(rows("1 0:1 3:2", 0).unwrap().design.columns, [0, 3]);
}

#[test]
fn doubtful_rows_are_refused_with_their_position() {
    for (text, reason) in [
        ("", "f: there are no rows"),
        ("x 1:1", "f:1:1: the label \"x\" is not a finite number"),
        ("1:1 2:2", "f:1:1: the label \"1:1\""),
        ("1,2 1:1", "f:1:1: the label \"1,2\""),
        ("inf 1:1", "f:1:1: the label \"inf\""),
        ("2 1:1", "f:1:1: \"2\" is not a class of the model"),
        (
            "1 1:1\n1 0:1",
            "f:2:3: \"0:1\": the features of the model start at 1",
        ),
        ("1 5:1", "f:1:3: \"5:1\": the model has 4 features"),
        (
            "1 99999999999999999999:1",
            "f:1:3: \"99999999999999999999:1\": the index is not a whole number",
        ),
        ("1 +1:1", "f:1:3: \"+1:1\": the index is not a whole number"),
        ("1 1:", "f:1:3: \"1:\": the value is not a finite number"),
        ("1 1:nan", "f:1:3: \"1:nan\": the value is not a finite number"),
        ("1 1:1:1", "f:1:3: \"1:1:1\": the value is not a finite number"),
        ("1 2", "f:1:3: \"2\": index:value is expected"),
        ("1 qid:", "f:1:3: \"qid:\": the index is not a whole number"),
        ("1 2:1 2:3", "f:1:1: index 2 is repeated in this row"),
        ("1 2:1\u{0} ", "f:1:6: a NUL byte"),
    ] {
        let found = rows(text, 1).map(|_| ()).unwrap_err();
        assert!(found.starts_with(reason), "{text:?}: {found}");
    }
}
