//! HTML tables and lists. All text is escaped here, so that no name or value is read as markup.

use crate::draw::escaped;

/// A table with column headers; the first cell of each row is the row header.
pub(super) fn table(caption: &str, head: &[String], rows: &[Vec<String>]) -> String {
    let cells = |tag: &str, scope: &str, cells: &[String]| -> String {
        cells
            .iter()
            .map(|cell| format!("<{tag}{scope}>{}</{tag}>", escaped(cell)))
            .collect()
    };
    // An empty cell is not a header.
    let heads: String = head
        .iter()
        .map(|cell| match cell.is_empty() {
            true => "<td></td>".to_string(),
            false => format!("<th scope=\"col\">{}</th>", escaped(cell)),
        })
        .collect();
    let body: String = rows
        .iter()
        .filter_map(|row| row.split_first())
        .map(|(name, rest)| {
            let name = format!("<th scope=\"row\">{}</th>", escaped(name));
            format!("<tr>{name}{}</tr>\n", cells("td", "", rest))
        })
        .collect();
    // A scrollable region must be reachable by keyboard.
    format!(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\"><table>\n<thead><tr>{heads}</tr></thead>\n\
         <tbody>\n{body}</tbody>\n</table></div>\n",
        escaped(caption)
    )
}

/// Key figures, displayed prominently.
pub(super) fn tiles(tiles: &[(&str, String)]) -> String {
    let each = tiles
        .iter()
        .map(|(name, value)| format!("<div><dt>{}</dt><dd>{}</dd></div>", escaped(name), escaped(value)));
    format!("<dl class=\"tiles\">{}</dl>\n", each.collect::<String>())
}

/// A list of names and values.
pub(super) fn facts(facts: &[(&str, String)]) -> String {
    let each = facts
        .iter()
        .map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(value)));
    format!("<dl class=\"facts\">\n{}</dl>\n", each.collect::<String>())
}

/// A bulleted list.
pub(super) fn list(items: impl IntoIterator<Item = String>) -> String {
    let items: String = items
        .into_iter()
        .map(|item| format!("<li>{}</li>\n", escaped(&item)))
        .collect();
    format!("<ul>\n{items}</ul>\n")
}
