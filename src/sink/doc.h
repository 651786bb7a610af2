/* Private to src/sink: a document of headings, sentences, lists and tables that is written once and comes out as HTML or as Markdown.
 *
 * Every text that goes in is plain text and is escaped on its way out, foreign or not. Figures are marked where they stand: UP_M after a
 * number says that it was measured, UP_C that it was computed from measured ones, UP_A that somebody stated it and nobody checked. */
#ifndef UP_DOC_H
#define UP_DOC_H

#include "useprobe/buffer.h"

#define UP_M "\001"
#define UP_C "\002"
#define UP_A "\003"

struct up_doc {
	struct up_buffer *out;
	bool html;
	const struct up_doc_column *column; /* of the open table */
	unsigned n_columns, cell;
};

struct up_doc_column {
	const char *title; /* may hold a mark that is true of all cells */
	bool number; /* aligned to the right */
};

/* Foreign bytes on their way into a sentence: control, invisible and direction-changing characters and broken UTF-8 become \xNN (so that none
 * of them is taken for a mark), long texts lose their middle. */
struct up_plain {
	char text[600];
};
struct up_plain up_plain(const char *text);

/* TEXT escaped for the body or an attribute of HTML; marks become small letters. */
void up_html_text(struct up_buffer *out, const char *text);
/* The same without marks, for attributes and SVG. */
void up_html_bare(struct up_buffer *out, const char *text);
void up_markdown_text(struct up_buffer *out, const char *text);

void up_doc_section(struct up_doc *doc, const char *id, const char *title);
void up_doc_section_end(struct up_doc *doc);
void up_doc_heading(struct up_doc *doc, const char *title);
void up_doc_say(struct up_doc *doc, const char *format, ...) UP_PRINTF(2, 3);
/* Beside the point but worth knowing. */
void up_doc_note(struct up_doc *doc, const char *format, ...) UP_PRINTF(2, 3);
void up_doc_list(struct up_doc *doc);
void up_doc_item(struct up_doc *doc, const char *format, ...) UP_PRINTF(2, 3);
void up_doc_list_end(struct up_doc *doc);
/* A headline figure: what it is, the figure, a line below it. */
void up_doc_tiles(struct up_doc *doc);
void up_doc_tile(struct up_doc *doc, const char *label, const char *figure, const char *format, ...) UP_PRINTF(4, 5);
void up_doc_tiles_end(struct up_doc *doc);
/* COLUMN [n] must outlive the table. Cells fill row after row. */
void up_doc_table(struct up_doc *doc, const char *caption, const struct up_doc_column *column, unsigned n);
void up_doc_cell(struct up_doc *doc, const char *format, ...) UP_PRINTF(2, 3);
void up_doc_table_end(struct up_doc *doc);
/* Pairs under a title that may hold a mark true of all of them. */
void up_doc_facts(struct up_doc *doc, const char *title);
void up_doc_fact(struct up_doc *doc, const char *key, const char *format, ...) UP_PRINTF(3, 4);
void up_doc_facts_end(struct up_doc *doc);
/* What is folded away in HTML until somebody opens it. */
void up_doc_fold(struct up_doc *doc, const char *summary);
void up_doc_fold_end(struct up_doc *doc);

#endif
