/** A text that comes in pieces has the facts and faults that it has in one piece. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonScan } from '../../media/json-scan.ts';
import { isJson, type TextKind, TextScan, textFacts, textFaults } from '../../media/text-facts.ts';

const RUNS = { numRuns: Number(process.env['TIDEWHEEL_SEEDS'] ?? 400) };

function piecesOf(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

const cuts = fc.array(fc.nat(), { maxLength: 8 });
const document = fc.oneof(
  fc.json(),
  fc.json({ noUnicodeString: false }),
  fc.constantFrom('NaN', '[-Infinity, 1e5]'),
);

/** JSON with a few bytes replaced, left out or doubled. */
const nearlyJson = fc
  .tuple(
    document,
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.constantFrom('"', '\\', '{', '}', ']', ',', ':', '0', '-', '.', 'e', ' ', 't', ''),
      ),
      { maxLength: 3 },
    ),
  )
  .map(([text, changes]) =>
    changes.reduce((changed, [at, character]) => {
      const place = at % (changed.length + 1);
      return changed.slice(0, place) + character + changed.slice(place + (at % 2));
    }, text),
  );

const bytes = fc.oneof(
  nearlyJson.map((text) => Buffer.from(text)),
  fc.array(nearlyJson, { maxLength: 4 }).map((lines) => Buffer.from(lines.join('\n'))),
  fc.string({ unit: 'grapheme' }).map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 40 }).map((all) => Buffer.from(all)),
  fc
    .constantFrom('', '\n', ' \r\n\n', '{}\n{}', '\u{1F600}é', '"\\ud83d"', '"\u2028"')
    .map((text) => Buffer.from(text)),
);

describe('a scan of a text', () => {
  it.each<TextKind>(['text', 'json', 'jsonLines'])('finds in pieces what %s has in one', (kind) => {
    const property = fc.property(bytes, cuts, (all, places) => {
      // Only a text in memory may have other blanks than those of JSON around a document.
      fc.pre(!/^[^\S \t\r\n]/m.test(all.toString()));
      const scan = new TextScan(kind, true);
      for (const piece of piecesOf(all, places)) scan.add(piece);
      expect(scan.finish()).toEqual({ ...textFacts([all]), ...textFaults([all], kind) });
    });
    fc.assert(property, RUNS);
  });

  it.each([
    [500, true],
    [501, false],
    [100_000, false],
  ])('takes %i levels: %s', (levels, isTaken) => {
    const deep = '['.repeat(levels) + ']'.repeat(levels);
    const scan = new JsonScan();
    scan.add(Buffer.from(deep));
    expect([scan.isWhole, isJson(deep), isJson(`[${'[],'.repeat(levels)}0]`)]).toEqual([
      isTaken,
      isTaken,
      true,
    ]);
  });

  it.each(['01', '1.', '-', '1e', '[1,]', '{"a"}', '{"a":1,}', '"\t"', '"\\x"', 'tru', '{]', '1 2', '"a'])(
    'refuses %s',
    (text) => {
      const scan = new JsonScan();
      scan.add(Buffer.from(text));
      expect([scan.isWhole, isJson(text)]).toEqual([false, false]);
    },
  );
});
