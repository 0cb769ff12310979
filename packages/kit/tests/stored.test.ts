/** A release reads its own version and the one before, and says which release cannot read another. */
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { kindOf, RELEASE, readVersioned, storedOrThrow, valueOf } from '../stored.ts';

/** The version before had hours. */
const kind = kindOf(z.object({ version: z.literal(3), minutes: z.number() }), ({ hours }) => ({
  minutes: Number(hours) * 60,
}));

describe('a stored document', () => {
  it('of the version that is written is read', () => {
    expect(valueOf(readVersioned(kind, { version: 3, minutes: 5 }))).toEqual({ version: 3, minutes: 5 });
  });

  it('of the version before is upgraded', () => {
    expect(valueOf(readVersioned(kind, { version: 2, hours: 2 }))).toEqual({ version: 3, minutes: 120 });
  });

  it.each([
    [{ version: 4 }, 'version 4', ', which is newer'],
    [{ version: 1 }, 'version 1', ''],
    [{}, 'no version', ''],
    [{ version: '3' }, 'version "3"', ''],
  ])('of another version is refused: %j', (content, found, newer) => {
    expect(() => storedOrThrow('the note', kind, content)).toThrow(
      `the note has ${found}, and release ${RELEASE} reads versions 2 and 3: use the release that wrote it${newer}`,
    );
  });

  it.each([
    [{ version: 3, minutes: 'five' }, 'minutes: give a number'],
    [{ version: 2, hours: 'two' }, 'minutes: '],
    ['3', '(whole document): '],
    [null, '(whole document): '],
    [[{ version: 3 }], '(whole document): '],
  ])('that is damaged names the field: %j', (content, problem) => {
    expect(() => storedOrThrow('it', kind, content)).toThrow(
      `it is of another release, or damaged (${problem}`,
    );
  });
});
