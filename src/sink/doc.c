#include "doc.h"

#include <stdio.h>
#include <string.h>

void up_doc_section(struct up_doc *doc, const char *id, const char *title)
{
	if (doc->html) {
		up_buffer_print(doc->out, "<section id=\"%s\">\n<h2>", id);
		up_html_text(doc->out, title);
		up_buffer_add(doc->out, "</h2>\n");
	} else {
		up_buffer_add(doc->out, "## ");
		up_markdown_text(doc->out, title);
		up_buffer_add(doc->out, "\n\n");
	}
}

void up_doc_section_end(struct up_doc *doc)
{
	if (doc->html)
		up_buffer_add(doc->out, "</section>\n");
}

void up_doc_heading(struct up_doc *doc, const char *title)
{
	up_buffer_add(doc->out, doc->html ? "<h3>" : "### ");
	if (doc->html)
		up_html_text(doc->out, title);
	else
		up_markdown_text(doc->out, title);
	up_buffer_add(doc->out, doc->html ? "</h3>\n" : "\n\n");
}

/* The formatted text, escaped. */
UP_PRINTF(2, 0) static void put(struct up_doc *doc, const char *format, va_list list)
{
	struct up_buffer text = { 0 };

	up_buffer_print_list(&text, format, list);
	if (text.failed)
		doc->out->failed = true;
	else if (text.text && doc->html)
		up_html_text(doc->out, text.text);
	else if (text.text)
		up_markdown_text(doc->out, text.text);
	up_buffer_done(&text);
}

void up_doc_say(struct up_doc *doc, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	up_buffer_add(doc->out, doc->html ? "<p>" : "");
	put(doc, format, list);
	up_buffer_add(doc->out, doc->html ? "</p>\n" : "\n\n");
	va_end(list);
}

void up_doc_note(struct up_doc *doc, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	up_buffer_add(doc->out, doc->html ? "<p class=\"note\">" : "");
	put(doc, format, list);
	up_buffer_add(doc->out, doc->html ? "</p>\n" : "\n\n");
	va_end(list);
}

void up_doc_list(struct up_doc *doc)
{
	up_buffer_add(doc->out, doc->html ? "<ul>\n" : "");
}

void up_doc_item(struct up_doc *doc, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	up_buffer_add(doc->out, doc->html ? "<li>" : "- ");
	put(doc, format, list);
	up_buffer_add(doc->out, doc->html ? "</li>\n" : "\n");
	va_end(list);
}

void up_doc_list_end(struct up_doc *doc)
{
	up_buffer_add(doc->out, doc->html ? "</ul>\n" : "\n");
}

void up_doc_tiles(struct up_doc *doc)
{
	up_buffer_add(doc->out, doc->html ? "<div class=\"tiles\">\n" : "");
}

void up_doc_tile(struct up_doc *doc, const char *label, const char *figure, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	if (doc->html) {
		up_buffer_add(doc->out, "<div class=\"tile\"><div class=\"label\">");
		up_html_text(doc->out, label);
		up_buffer_add(doc->out, "</div><div class=\"figure\">");
		up_html_text(doc->out, figure);
		up_buffer_add(doc->out, "</div><div class=\"below\">");
	} else {
		up_buffer_add(doc->out, "- **");
		up_markdown_text(doc->out, label);
		up_buffer_add(doc->out, ": ");
		up_markdown_text(doc->out, figure);
		up_buffer_add(doc->out, "** ");
	}
	put(doc, format, list);
	up_buffer_add(doc->out, doc->html ? "</div></div>\n" : "\n");
	va_end(list);
}

void up_doc_tiles_end(struct up_doc *doc)
{
	up_buffer_add(doc->out, doc->html ? "</div>\n" : "\n");
}

static void html_header(struct up_doc *doc, const char *caption)
{
	up_buffer_add(doc->out, "<div class=\"wide\"><table>\n");
	if (caption) {
		up_buffer_add(doc->out, "<caption>");
		up_html_text(doc->out, caption);
		up_buffer_add(doc->out, "</caption>\n");
	}
	up_buffer_add(doc->out, "<thead><tr>");
	for (unsigned i = 0; i < doc->n_columns; i++) {
		up_buffer_add(doc->out, doc->column[i].number ? "<th class=\"n\">" : "<th>");
		up_html_text(doc->out, doc->column[i].title);
		up_buffer_add(doc->out, "</th>");
	}
	up_buffer_add(doc->out, "</tr></thead>\n<tbody>\n");
}

static void markdown_header(struct up_doc *doc, const char *caption)
{
	if (caption) {
		up_markdown_text(doc->out, caption);
		up_buffer_add(doc->out, "\n\n");
	}
	for (unsigned i = 0; i < doc->n_columns; i++) {
		up_buffer_add(doc->out, "| ");
		up_markdown_text(doc->out, doc->column[i].title);
		up_buffer_add(doc->out, " ");
	}
	up_buffer_add(doc->out, "|\n");
	for (unsigned i = 0; i < doc->n_columns; i++)
		up_buffer_add(doc->out, doc->column[i].number ? "|---:" : "|---");
	up_buffer_add(doc->out, "|\n");
}

void up_doc_table(struct up_doc *doc, const char *caption, const struct up_doc_column *column, unsigned n)
{
	doc->column = column;
	doc->n_columns = n;
	doc->cell = 0;
	if (doc->html)
		html_header(doc, caption);
	else
		markdown_header(doc, caption);
}

void up_doc_cell(struct up_doc *doc, const char *format, ...)
{
	const bool first = doc->cell == 0, last = doc->cell + 1 == doc->n_columns;
	va_list list;

	va_start(list, format);
	if (doc->html) {
		up_buffer_add(doc->out, first ? "<tr>" : "");
		up_buffer_add(doc->out, doc->column[doc->cell].number ? "<td class=\"n\">" : "<td>");
	} else {
		up_buffer_add(doc->out, "| ");
	}
	put(doc, format, list);
	up_buffer_add(doc->out, doc->html ? "</td>" : " ");
	if (last)
		up_buffer_add(doc->out, doc->html ? "</tr>\n" : "|\n");
	doc->cell = last ? 0 : doc->cell + 1;
	va_end(list);
}

void up_doc_table_end(struct up_doc *doc)
{
	up_buffer_add(doc->out, doc->html ? "</tbody></table></div>\n" : "\n");
}

void up_doc_facts(struct up_doc *doc, const char *title)
{
	if (doc->html) {
		up_buffer_add(doc->out, "<div class=\"group\">");
		up_html_text(doc->out, title);
		up_buffer_add(doc->out, "</div>\n<dl>\n");
	} else {
		up_doc_heading(doc, title);
	}
}

void up_doc_fact(struct up_doc *doc, const char *key, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	up_buffer_add(doc->out, doc->html ? "<div><dt>" : "- ");
	if (doc->html)
		up_html_text(doc->out, key);
	else
		up_markdown_text(doc->out, key);
	up_buffer_add(doc->out, doc->html ? "</dt><dd>" : ": ");
	put(doc, format, list);
	up_buffer_add(doc->out, doc->html ? "</dd></div>\n" : "\n");
	va_end(list);
}

void up_doc_facts_end(struct up_doc *doc)
{
	up_buffer_add(doc->out, doc->html ? "</dl>\n" : "\n");
}

void up_doc_fold(struct up_doc *doc, const char *summary)
{
	if (doc->html) {
		up_buffer_add(doc->out, "<details><summary>");
		up_html_text(doc->out, summary);
		up_buffer_add(doc->out, "</summary>\n");
	} else {
		up_doc_heading(doc, summary);
	}
}

void up_doc_fold_end(struct up_doc *doc)
{
	if (doc->html)
		up_buffer_add(doc->out, "</details>\n");
}
