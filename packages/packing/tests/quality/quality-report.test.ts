/** The quality report of a generation, from real drops through the real packer. */

import { packingSchema, splitSchema } from '@tidewheel/declaration/packing-settings.ts';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { compactAll, incoming, packedInDrops, runOf } from '../../../../test/support/builders/compaction.ts';
import { now, PIPELINE, packAll, packPipeline, settings } from '../../../../test/support/builders/packing.ts';
import { many, qualityKey, reportOf } from '../../../../test/support/builders/quality.ts';
import type { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { misbehaving } from '../../../../test/support/fakes/misbehaving-store.ts';
import { UnreadableBlobError } from '../../documents/blob-store.ts';
import { planShards } from '../../plan/plan-shards.ts';
import { writeQualityReport } from '../../quality/quality-report.ts';
import { SplitRule } from '../../splits/split-rule.ts';

const packing = settings();

/** The second run, which replaces what it corrects. */
async function corrected(store: MemoryBlobStore): Promise<void> {
  await planShards({ store, now }, { runId: runOf(2), pipeline: PIPELINE, packing, onChange: 'replace' });
  await packAll(store, packing, runOf(2));
}

describe('a quality report', () => {
  it('counts classes before and after, and their shares', async () => {
    const drops = [{ ...many('cat', 6), ...many('dog', 2) }, many('dog', 8, 2)];
    const store = await packedInDrops(drops, packing);
    const { classes, versionTally, drift } = await reportOf(store, 2);
    expect(versionTally.samples).toBe(16);
    expect(classes).toEqual([
      { name: 'cat', packed: 0, copies: 0, before: 6, now: 6, shareBefore: 0.75, shareNow: 0.375 },
      { name: 'dog', packed: 8, copies: 0, before: 2, now: 10, shareBefore: 0.25, shareNow: 0.625 },
    ]);
    expect(drift.classes[0]).toEqual({ what: 'cat', before: 75, now: 37.5 });
  });

  it('counts a corrected sample once', async () => {
    const store = await packedInDrops([many('cat', 5)], packing);
    store.seed(`${incoming}cat/3.txt`, 'corrected\n');
    store.seed(`${incoming}dog/1.txt`, 'new\n');
    await corrected(store);
    const { versionTally, generationTally, classes } = await reportOf(store, 2);
    expect(generationTally.samples).toBe(2);
    expect(versionTally.samples).toBe(6);
    expect(classes?.map(({ name, now }) => [name, now])).toEqual([
      ['cat', 5],
      ['dog', 1],
    ]);
    await compactAll(store, packing);
    expect((await reportOf(store, 2)).versionTally).toEqual(versionTally);
  });

  it('finds equal samples within a drop and across drops', async () => {
    const same = { 'a/1.txt': 'same', 'a/2.txt': 'same', 'b/3.txt': 'same', 'b/4.txt': 'once' };
    const store = await packedInDrops([same, { 'a/5.txt': 'once', 'a/6.txt': 'new' }], packing);
    const first = await reportOf(store, 1);
    expect(first.duplicates).toMatchObject({ within: 2, earlier: 0, conflicting: 1 });
    expect(first.duplicates.examples).toEqual([
      {
        digest: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
        samples: 3,
        keys: ['a/1.txt', 'a/2.txt', 'b/3.txt'].map((key) => `${incoming}${key}`),
        labels: ['a', 'b'],
      },
    ]);
    expect((await reportOf(store, 2)).duplicates).toMatchObject({ within: 0, earlier: 1 });
  });

  it('finds other labels of equal samples across drops', async () => {
    const drops = [
      { 'a/1.txt': 'same', 'a/2.txt': 'own' },
      { 'b/3.txt': 'same', 'b/4.txt': 'new' },
    ];
    const store = await packedInDrops(drops, packing);
    const { duplicates, held } = await reportOf(store, 2, { conflictingLabels: '49 %' });
    expect(duplicates).toMatchObject({ within: 0, earlier: 1, conflicting: 1 });
    expect(duplicates.examples).toMatchObject([
      { samples: 1, keys: [`${incoming}a/1.txt`, `${incoming}b/3.txt`], labels: ['a', 'b'] },
    ]);
    expect(held).toHaveLength(1);
  });

  it('takes no corrected label for a conflict', async () => {
    const store = await packedInDrops([{ 'a/1.txt': 'same', 'a/1.cls': 'cat' }], packing);
    for (const [key, body] of [
      ['a/1.cls', 'dog'],
      ['b/2.txt', 'new'],
    ] as const)
      store.seed(incoming + key, body);
    await corrected(store);
    expect((await reportOf(store, 2)).duplicates).toMatchObject({ earlier: 0, conflicting: 0 });
  });

  it('says the same after a compaction joined the correction', async () => {
    const store = await packedInDrops([{ 'a/1.txt': 'same', 'a/2.txt': 'other' }], packing);
    store.seed(`${incoming}a/1.cls`, 'dog');
    store.seed(`${incoming}b/3.txt`, 'other');
    await corrected(store);
    const sealed = await reportOf(store, 2);
    expect(sealed.duplicates).toMatchObject({ earlier: 1, conflicting: 1 });
    await compactAll(store, packing);
    expect(await reportOf(store, 2)).toEqual(sealed);
  });

  it('does not take equal labels for equal samples', async () => {
    const pairs = {
      'a/1.txt': 'a longer text',
      'a/1.json': '{}',
      'a/2.txt': 'another text',
      'a/2.json': '{}',
    };
    const store = await packedInDrops([pairs], packing);
    expect((await reportOf(store, 1)).duplicates.within).toBe(0);
  });

  it('finds samples that another pipeline holds too', async () => {
    const store = await packedInDrops([{ 'a/1.txt': 'shared', 'a/2.txt': 'own' }], packing);
    store.seed('tests/incoming/x/9.txt', 'shared');
    const other = { runId: 'tests-000001', pipeline: 'tests', packing };
    await packPipeline(store, other);
    // Whether a report has counted the other one or not, as of a joined generation.
    const found = { shared: [{ pipeline: 'tests', samples: 1 }], notCompared: [] };
    expect(await reportOf(store, 1)).toMatchObject(found);
    await writeQualityReport({ store }, { pipeline: 'tests', generation: other.runId });
    expect(await reportOf(store, 1)).toMatchObject(found);
  });

  it('does without another pipeline that is damaged', async () => {
    const store = await packedInDrops([{ 'a/1.txt': 'shared' }], packing);
    store.seed('tests/incoming/x/9.txt', 'shared');
    await packPipeline(store, { runId: 'tests-000001', pipeline: 'tests', packing });
    for (const list of store.keys('tests/dataset/tests-000001/members/')) store.seed(list, 'damaged');
    expect(await reportOf(store, 1)).toMatchObject({ shared: [], notCompared: ['tests'] });
  });

  it('finds bytes that two splits hold', async () => {
    const split = splitSchema.parse({
      train: 0.5,
      validation: 0.5,
      by: 'group',
      groupPattern: '^([a-z]+)/',
    });
    const groups = ['anna', 'bob', 'cleo', 'dora', 'emil', 'fay'];
    const rule = new SplitRule(split);
    const measured = groups.find((group) => rule.of(`${group}/1.txt`) === 'validation') ?? '';
    const trained = groups.find((group) => rule.of(`${group}/1.txt`) === 'train') ?? '';
    const drops = [
      { [`${trained}/1.txt`]: 'same' },
      { [`${measured}/1.txt`]: 'same', [`${measured}/2.txt`]: 'own' },
    ];
    const store = await packedInDrops(drops, settings({ split }));
    const { splits, held } = await reportOf(store, 2, { leakage: '0 %' });
    expect(held).toEqual([
      '50 % of the samples of validation have the bytes of samples of train (limit: 0 %)',
    ]);
    expect(splits).toEqual({
      counts: [
        { name: 'train', packed: 0, copies: 0, now: 1, share: 1 / 3 },
        { name: 'validation', packed: 2, copies: 0, now: 2, share: 2 / 3 },
      ],
      leaks: [
        { split: 'validation', other: 'train', samples: 1, examples: [`${incoming}${measured}/1.txt`] },
      ],
    });
    expect(store.body(qualityKey(2, 'report.html')).toString()).toContain(
      '1 samples of validation have the bytes of samples of train.',
    );
  });

  it('has the same bytes when it is made again', async () => {
    const store = await packedInDrops([many('cat', 5), many('dog', 5)], packing);
    await reportOf(store, 2);
    const [json, page] = [store.body(qualityKey(2, 'report.json')), store.body(qualityKey(2, 'report.html'))];
    store.objects.delete(qualityKey(2, 'tally.json'));
    await reportOf(store, 2);
    expect(store.body(qualityKey(2, 'report.json'))).toEqual(json);
    expect(store.body(qualityKey(2, 'report.html'))).toEqual(page);
  });

  it('reads the tallies of a joined generation too', async () => {
    const store = await packedInDrops([many('cat', 5), many('dog', 5)], packing);
    await compactAll(store, packing);
    store.seed(`${incoming}cat/77.txt`, 'cat number 3\n');
    await packAll(store, packing, runOf(3));
    const { versionTally, duplicates } = await reportOf(store, 3);
    expect(versionTally.samples).toBe(11);
    expect(duplicates.earlier).toBe(1);
  });
});

describe('the page of a report', () => {
  it('escapes hostile keys and holds no script', async () => {
    const hostile = { '<script>alert(1)</script>/"\'&.txt': 'x', 'b/<img src=x onerror=alert(1)>.txt': 'x' };
    const store = await packedInDrops([hostile], packing);
    await reportOf(store, 1);
    const page = store.body(qualityKey(1, 'report.html')).toString();
    expect(page).not.toMatch(/<script|<img src=x|onerror=alert\(1\)>/);
    expect(page).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(page).toContain("default-src 'none'");
  });

  it('shows rejections by reason with a picture', async () => {
    const photo = await sharp({ create: { width: 30, height: 20, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    const { prepare } = packingSchema.parse({ prepare: { image: { maxSide: 16, mostMegapixels: 0.01 } } });
    const large = await sharp({ create: { width: 400, height: 300, channels: 3, background: 'blue' } })
      .png()
      .toBuffer();
    const drop = {
      'a/1.png': photo,
      'a/2.png': photo.subarray(0, 60),
      'a/3.png': 'no image',
      'a/4.png': large,
    };
    const store = await packedInDrops([drop], settings({ prepare }));
    const { rejections } = await reportOf(store, 1);
    expect(rejections.byReason).toEqual({ imageDamaged: 1, imageUnknown: 1, imageTooManyPixels: 1 });
    expect(rejections.examples['imageTooManyPixels']).toEqual([
      { key: `${incoming}a/4.png`, size: large.length },
    ]);
    const page = store.body(qualityKey(1, 'report.html')).toString();
    expect(page.match(/src="data:image\/(jpeg|png);base64,/g)).toHaveLength(2);
  });

  it('shows what was left, with the code of S3', async () => {
    const whole = await packedInDrops([], packing);
    for (const [key, body] of Object.entries(many('cat', 12))) whole.seed(`${incoming}${key}`, body);
    whole.seed(`${incoming}cat/3.json`, '{}');
    const denied = new UnreadableBlobError('AccessDenied', new Error('AccessDenied'));
    const store = misbehaving(whole, {
      get: (key, options) => (key.endsWith('cat/3.txt') ? Promise.reject(denied) : whole.get(key, options)),
    });
    await packAll(store, packing);
    const { left } = await reportOf(whole, 1);
    expect(left).toMatchObject({
      byReason: { unreadable: 1, sampleDeferred: 1 },
      byCode: { AccessDenied: 1 },
    });
    const page = whole.body(qualityKey(1, 'report.html')).toString();
    expect(page).toContain('S3 answered AccessDenied (1).');
    expect(page).toContain('<bdi>cat/3.txt</bdi>');
  });

  it('counts images that were left as they came', async () => {
    const photo = await sharp({ create: { width: 90, height: 60, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    const { prepare } = packingSchema.parse({ prepare: { image: { maxSide: 16 } } });
    const drop = { 'a/1.png': photo, 'a/2.left.png': photo, 'a/2.right.png': photo, 'a/3.left.png': photo };
    const store = await packedInDrops([drop], settings({ prepare }));
    expect((await reportOf(store, 1)).unprepared).toEqual({ left: 2, right: 1 });
    expect(store.body(qualityKey(1, 'report.html')).toString()).toContain(
      '<bdi>left</bdi> (2), <bdi>right</bdi> (1).',
    );
  });
});

describe('prepared images', () => {
  it('that look alike are counted, equal ones are not', async () => {
    const wave = (step: number): Buffer =>
      Buffer.from(
        Uint8Array.from({ length: 64 * 48 * 3 }, (_, at) => {
          const [x, y] = [Math.floor(at / 3) % 64, Math.floor(at / 192)];
          return Math.floor(127 + 60 * Math.sin(x / step) + 60 * Math.cos(y / (step + 2)));
        }),
      );
    const image = (pixels: Buffer) => sharp(pixels, { raw: { width: 64, height: 48, channels: 3 } });
    const drop = {
      'a/1.png': await image(wave(5)).png().toBuffer(),
      'a/2.jpg': await image(wave(5)).jpeg({ quality: 70 }).toBuffer(),
      'a/3.png': await image(wave(11)).png().toBuffer(),
      'a/4.png': await image(wave(11)).png().toBuffer(),
    };
    const { prepare } = packingSchema.parse({ prepare: { image: { maxSide: 64 } } });
    const store = await packedInDrops([drop], settings({ prepare }));
    const { near, duplicates, channels } = await reportOf(store, 1);
    expect(near).toEqual({
      images: 2,
      isLowerBound: false,
      examples: [[`${incoming}a/1.png`, `${incoming}a/2.jpg`]],
    });
    expect(duplicates.within).toBe(1);
    expect(channels?.mean[0]).toBeCloseTo(0.5, 0);
  });
});
