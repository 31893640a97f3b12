use crate::json::{Node, Value, parse, quote};

#[test]
fn values_are_parsed() {
    let fault = parse(" {\"a\" : [1, -0.5e+1, 1e400e], \"b\": null}").unwrap_err();
    assert_eq!(fault.offset, 21);
    let value =
        parse("{\"a\":[1,-0.5e+1,0],\"b\":null,\"c\":\"x\\u00e9\\ud83d\\ude00\\n\\/\",\"d\":true}").unwrap();
    let root = Node::root(&value);
    assert_eq!(root.field("a").unwrap().numbers().unwrap(), [1.0, -5.0, 0.0]);
    assert!(root.optional("b").unwrap().is_none());
    assert_eq!(root.field("c").unwrap().text().unwrap(), "xé😀\n/");
    assert!(root.field("d").unwrap().boolean().unwrap());
    assert_eq!(root.field("e").unwrap_err().to_string(), "the field e is missing");
    let error = root.field("a").unwrap().items().unwrap()[1].count().unwrap_err();
    assert_eq!(error.to_string(), "a[1]: an integer from 0 on is expected");
}

#[test]
fn numbers_are_rounded_correctly() {
    for text in [
        "0.1",
        "1.7976931348623157e308",
        "5e-324",
        "9007199254740993",
        "-2.2250738585072011e-308",
    ] {
        assert_eq!(
            parse(text).unwrap(),
            Value::Number(text.parse().unwrap()),
            "{text}"
        );
    }
}

#[test]
fn damaged_documents_are_refused() {
    for text in [
        "",
        " ",
        "{",
        "[",
        "[1,]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "01",
        "+1",
        "1.",
        ".5",
        "1e",
        "- 1",
        "nul",
        "True",
        "NaN",
        "Infinity",
        "1e999",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "\"a\nb\"",
        "[] []",
        "{\"a\":1,\"a\":1}",
        "\u{feff}{}",
        "[1]//",
        "\u{a0}1",
    ] {
        assert!(parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn nesting_is_limited() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(parse(&nested(64)).is_ok());
    assert!(parse(&nested(65)).is_err());
    assert!(parse(&"[".repeat(1_000_000)).is_err());
}

#[test]
fn strings_round_trip() {
    let text = "a\"b\\c\n\u{1}é😀";
    assert_eq!(parse(&quote(text)).unwrap(), Value::Text(text.into()));
}
