// Ends of lines, blocks and strings: what Python's lexical rules say and no regular grammar can.
//
// The state is the widths of the open blocks, and of the open string its quotes.

#include "tree_sitter/alloc.h"
#include "tree_sitter/parser.h"

#include <string.h>

enum Token { NEWLINE, INDENT, DEDENT, STRING_START, STRING_CONTENT, STRING_END, RECOVERING };

enum { MOST = 100, TAB = 8 };  // blocks in blocks, as the language has it; columns

typedef struct {
  uint16_t widths[MOST];
  uint8_t depth;
  uint8_t quote;   // the sign of the open string; 0 outside of strings
  uint8_t quotes;  // how many of it close the string: 1 or 3
} Scanner;

void *tree_sitter_tile_external_scanner_create(void) { return ts_calloc(1, sizeof(Scanner)); }

void tree_sitter_tile_external_scanner_destroy(void *payload) { ts_free(payload); }

unsigned tree_sitter_tile_external_scanner_serialize(void *payload, char *buffer) {
  const Scanner *s = payload;
  unsigned size = 0;
  buffer[size++] = (char)s->quote;
  buffer[size++] = (char)s->quotes;
  buffer[size++] = (char)s->depth;
  memcpy(buffer + size, s->widths, s->depth * sizeof(uint16_t));
  return size + (unsigned)(s->depth * sizeof(uint16_t));
}

void tree_sitter_tile_external_scanner_deserialize(void *payload, const char *buffer, unsigned length) {
  Scanner *s = payload;
  memset(s, 0, sizeof *s);
  if (length < 3) return;
  s->quote = (uint8_t)buffer[0];
  s->quotes = (uint8_t)buffer[1];
  s->depth = (uint8_t)buffer[2];
  memcpy(s->widths, buffer + 3, s->depth * sizeof(uint16_t));
}

static bool ends_string(Scanner *s, TSLexer *lexer) {
  for (unsigned i = 0; i < s->quotes; i++) {
    if (lexer->lookahead != s->quote) return false;
    lexer->advance(lexer, false);
  }
  return true;
}

static bool in_string(Scanner *s, TSLexer *lexer, const bool *valid) {
  bool has_content = false;
  lexer->mark_end(lexer);
  while (!lexer->eof(lexer)) {
    if (lexer->lookahead == '\\') break;
    if (lexer->lookahead == '\n' && s->quotes == 1) break;
    if (lexer->lookahead == s->quote) {
      if (ends_string(s, lexer)) {
        if (has_content) break;  // the content ends before the quotes
        if (!valid[STRING_END]) return false;
        lexer->mark_end(lexer);
        lexer->result_symbol = STRING_END;
        s->quote = s->quotes = 0;
        return true;
      }
      has_content = true;
      lexer->mark_end(lexer);
      continue;
    }
    lexer->advance(lexer, false);
    has_content = true;
    lexer->mark_end(lexer);
  }
  lexer->result_symbol = STRING_CONTENT;
  return has_content && valid[STRING_CONTENT];
}

static bool begins_string(Scanner *s, TSLexer *lexer) {
  for (int i = 0; i < 2 && lexer->lookahead && strchr("rRuUbBfFtT", (int)lexer->lookahead); i++) {
    lexer->advance(lexer, false);
  }
  if (lexer->lookahead != '"' && lexer->lookahead != '\'') return false;
  s->quote = (uint8_t)lexer->lookahead;
  s->quotes = 1;
  lexer->advance(lexer, false);
  lexer->mark_end(lexer);
  if (lexer->lookahead == s->quote) {
    lexer->advance(lexer, false);
    if (lexer->lookahead == s->quote) {
      lexer->advance(lexer, false);
      lexer->mark_end(lexer);
      s->quotes = 3;
    }
  }
  lexer->result_symbol = STRING_START;
  return true;
}

bool tree_sitter_tile_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid) {
  Scanner *s = payload;
  bool recovering = valid[RECOVERING];
  if (s->quote && (valid[STRING_CONTENT] || valid[STRING_END]) && !recovering) return in_string(s, lexer, valid);

  lexer->mark_end(lexer);  // what ends or begins a block takes no text
  bool at_line_end = false;
  uint16_t width = 0;
  int first_comment = -1;
  for (;;) {
    if (lexer->lookahead == '\n') {
      at_line_end = true;
      width = 0;
    } else if (lexer->lookahead == ' ') {
      width++;
    } else if (lexer->lookahead == '\t') {
      width += TAB;
    } else if (lexer->lookahead == '\r' || lexer->lookahead == '\f') {
      width = 0;
    } else if (lexer->lookahead == '#' && at_line_end) {
      if (first_comment < 0) first_comment = width;
      while (lexer->lookahead && lexer->lookahead != '\n') lexer->advance(lexer, true);
      continue;
    } else if (lexer->eof(lexer)) {
      at_line_end = true;
      width = 0;
      break;
    } else {
      break;
    }
    lexer->advance(lexer, true);
  }
  if (at_line_end && !recovering) {
    uint16_t own = s->depth ? s->widths[s->depth - 1] : 0;
    if (valid[INDENT] && width > own && s->depth < MOST) {
      s->widths[s->depth++] = width;
      lexer->result_symbol = INDENT;
      return true;
    }
    // A comment of the block's width before a line further out is the block's.
    if (valid[DEDENT] && width < own && first_comment < (int)own) {
      s->depth--;
      lexer->result_symbol = DEDENT;
      return true;
    }
    if (valid[NEWLINE]) {
      lexer->result_symbol = NEWLINE;
      return true;
    }
  }
  if (valid[STRING_START] && first_comment < 0 && !recovering) return begins_string(s, lexer);
  return false;
}
