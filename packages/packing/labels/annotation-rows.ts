/**
 * Streams the rows of an annotations file: CSV with a header line (RFC 4180), also with tabs, semicolons or bars
 * between the fields, or JSON Lines.
 */
import { ConfigurationError } from '@tidewheel/kit/errors.ts';

export type AnnotationRow =
  | { readonly kind: 'row'; readonly row: number; readonly key: string; readonly label: string }
  | { readonly kind: 'broken'; readonly row: number; readonly key: string };

export interface Columns {
  readonly key: string;
  readonly label: string;
}

/**
 * Takes the text in pieces. `end` gives a last row without a newline. Rows count from 1, without the header of a CSV
 * file.
 */
export interface RowReader {
  push(text: string): Generator<AnnotationRow>;
  end(): Generator<AnnotationRow>;
}

const LONGEST_ROW = 1_000_000;

/** The end of a quoted field: its closing quote, or the end of the row. */
function closingQuote(line: string, start: number): number {
  for (let at = start + 1; ; at += 2) {
    at = line.indexOf('"', at);
    if (at < 0) return line.length;
    if (line[at + 1] !== '"') return at;
  }
}

/**
 * The newline that ends a CSV row; -1 if the text has none. Quoted newlines do not count; a quote inside a bare field
 * quotes nothing.
 */
function endOfCsvRow(text: string, start: number, separator: string): number {
  const newline = text.indexOf('\n', start);
  // A search beyond the row would make the time quadratic in the length of the text.
  if (newline < 0 || !text.slice(start, newline).includes('"')) return newline;
  for (let field = start; ; ) {
    const close = text[field] === '"' ? closingQuote(text, field) : field;
    const end = text.indexOf('\n', close);
    const comma = end < 0 ? -1 : text.slice(close, end).indexOf(separator);
    if (comma < 0) return end;
    field = close + comma + 1;
  }
}

/** Fields of one CSV row. In a field that does not begin with a quote, a quote is an ordinary character. */
function csvFields(row: string, separator: string): string[] {
  const line = row.endsWith('\r') ? row.slice(0, -1) : row;
  if (!line.includes('"')) return line.split(separator);
  const fields: string[] = [];
  for (let start = 0; start <= line.length; ) {
    const quoted = line[start] === '"';
    const close = quoted ? closingQuote(line, start) : start;
    const comma = line.indexOf(separator, close);
    const end = comma < 0 ? line.length : comma;
    const text = quoted ? line.slice(start + 1, close).replaceAll('""', '"') : '';
    fields.push(quoted ? text + line.slice(close + 1, end) : line.slice(start, end));
    start = end + 1;
  }
  return fields;
}

abstract class Rows implements RowReader {
  #rest = '';
  #row = 0;
  /** Position of the newline that ends the row; -1 if the text has none yet. */
  protected abstract endOfRow(text: string, start: number): number;
  /** Undefined for the header and for blank lines. */
  protected abstract parse(line: string): { key: string; label: string } | undefined;

  *push(text: string): Generator<AnnotationRow> {
    const all = this.#rest === '' ? text : this.#rest + text;
    let start = 0;
    for (let end = this.endOfRow(all, start); end >= 0; end = this.endOfRow(all, start)) {
      yield* this.#read(all.slice(start, end));
      start = end + 1;
    }
    this.#rest = all.slice(start);
    if (this.#rest.length > LONGEST_ROW) {
      throw new ConfigurationError(
        `row ${this.#row + 1} of the annotations is longer than ${LONGEST_ROW} characters: close its quotes`,
      );
    }
  }

  *end(): Generator<AnnotationRow> {
    const rest = this.#rest;
    this.#rest = '';
    if (rest !== '') yield* this.#read(rest);
  }

  *#read(line: string): Generator<AnnotationRow> {
    const found = this.parse(line);
    if (found === undefined) return;
    this.#row += 1;
    const { key, label } = found;
    if (key === '' || label === '') yield { kind: 'broken', row: this.#row, key };
    else yield { kind: 'row', row: this.#row, key, label };
  }
}

const SEPARATORS = [',', ';', '\t', '|'];

class CsvRows extends Rows {
  readonly #columns: Columns;
  #separator = ',';
  #at: { key: number; label: number } | undefined;

  constructor(columns: Columns) {
    super();
    this.#columns = columns;
  }

  protected override endOfRow(text: string, start: number): number {
    return endOfCsvRow(text, start, this.#separator);
  }

  protected override parse(line: string): { key: string; label: string } | undefined {
    if (line === '' || line === '\r') return undefined;
    if (this.#at !== undefined) {
      const fields = csvFields(line, this.#separator);
      return { key: fields[this.#at.key] ?? '', label: fields[this.#at.label] ?? '' };
    }
    const header = line.replace(/^\uFEFF/, '');
    const { key, label } = this.#columns;
    this.#separator =
      SEPARATORS.find((one) => [key, label].every((name) => csvFields(header, one).includes(name))) ?? ',';
    const fields = csvFields(header, this.#separator);
    this.#at = { key: this.#find(fields, 'key'), label: this.#find(fields, 'label') };
    return undefined;
  }

  #find(fields: readonly string[], role: keyof Columns): number {
    const at = fields.indexOf(this.#columns[role]);
    if (at >= 0) return at;
    throw new ConfigurationError(
      `the annotations have no column ${JSON.stringify(this.#columns[role])}, only ${JSON.stringify(fields.slice(0, 20))}: name one as packing.annotations.${role}`,
    );
  }
}

class JsonRows extends Rows {
  readonly #columns: Columns;

  constructor(columns: Columns) {
    super();
    this.#columns = columns;
  }

  protected override endOfRow(text: string, start: number): number {
    return text.indexOf('\n', start);
  }

  protected override parse(line: string): { key: string; label: string } | undefined {
    const bare = line.replace(/^\uFEFF/, '').trim();
    if (bare === '') return undefined;
    const value = parsed(bare);
    if (typeof value !== 'object' || value === null) return { key: '', label: '' };
    const fields = new Map<string, unknown>(Object.entries(value));
    return { key: textOf(fields.get(this.#columns.key)), label: textOf(fields.get(this.#columns.label)) };
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

const textOf = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : typeof value === 'number' || typeof value === 'boolean'
      ? String(value)
      : '';

/** @param file a name whose suffix tells the kind of rows */
export const rowReader = (file: string, columns: Columns): RowReader =>
  /\.[ct]sv$/i.test(file) ? new CsvRows(columns) : new JsonRows(columns);
