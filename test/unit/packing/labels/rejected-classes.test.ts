/** Samples that wait because of their class: `packing.reject` names conflictingLabels or singleSampleClasses. */
import { describe, expect, it } from 'vitest';
import { compact } from '../../../../functions/core/packing/compaction/compact.ts';
import { planShards } from '../../../../functions/core/packing/plan/plan-shards.ts';
import { writeQualityReport } from '../../../../functions/core/packing/quality/quality-report.ts';
import { sealDataset } from '../../../../functions/core/packing/seal/seal-dataset.ts';
import type { PackingSettings } from '../../../../functions/core/pipeline/pipeline.ts';
import { current, incoming, linesIn, problems, runOf } from '../../../support/builders/compaction.ts';
import { now, PIPELINE, planAndPack, SMALL, settings } from '../../../support/builders/packing.ts';
import { MemoryBlobStore } from '../../../support/fakes/memory-blob-store.ts';

const CHANGES = { onChange: 'replace', onDelete: 'retract' } as const;
const conflicts = settings({ reject: ['conflictingLabels'] });
const singles = settings({ reject: ['singleSampleClasses'] });

/** One pipeline over several drops. */
class Drops {
  readonly store = new MemoryBlobStore();
  readonly #packing: PackingSettings;
  #runs = 0;

  constructor(packing: PackingSettings) {
    this.#packing = packing;
  }

  /** @returns keys in the dataset and, by reason, what was left */
  async run(files: Readonly<Record<string, string>>, deleted: readonly string[] = []) {
    for (const [key, body] of Object.entries(files)) this.store.seed(`${incoming}${key}`, body);
    for (const key of deleted) this.store.objects.delete(`${incoming}${key}`);
    this.#runs += 1;
    const run = { runId: runOf(this.#runs), pipeline: PIPELINE, packing: this.#packing };
    await planShards({ store: this.store, now }, { ...run, ...CHANGES });
    await planAndPack(this.store, this.#packing, run.runId);
    const { left } = await sealDataset({ store: this.store }, run);
    const joining = { pipeline: PIPELINE, packing: this.#packing, after: 'never', ...CHANGES } as const;
    await compact(this.store, joining, { ...SMALL, readBytes: 1_000 });
    const [problem] = await problems(this.store);
    if (problem !== undefined) throw new Error(JSON.stringify(problem));
    return { held: await this.#held(), left: left?.byReason ?? {} };
  }

  async #held(): Promise<string[]> {
    const manifests = await current(this.store);
    const keys = manifests.flatMap((manifest) => linesIn(this.store, manifest).map(({ key }) => key));
    return keys.flatMap((key) => key?.slice(incoming.length) ?? []).sort();
  }
}

describe('samples of the same bytes with different labels', () => {
  it('are all left until the label is corrected', async () => {
    const drops = new Drops(conflicts);
    const first = await drops.run({ 'cat/1.txt': 'same', 'dog/1.txt': 'same', 'dog/2.txt': 'other' });
    expect(first).toEqual({ held: ['dog/2.txt'], left: { conflictingLabels: 2 } });
    const second = await drops.run({ 'dog/3.txt': 'new' }, ['dog/1.txt']);
    expect(second).toEqual({ held: ['cat/1.txt', 'dog/2.txt', 'dog/3.txt'], left: {} });
  });

  it('are shown by the report with their keys', async () => {
    const drops = new Drops(conflicts);
    await drops.run({ 'cat/1.txt': 'same', 'dog/1.txt': 'same', 'dog/2.txt': 'other' });
    const report = await writeQualityReport(
      { store: drops.store },
      { pipeline: PIPELINE, generation: runOf(1) },
    );
    const reason = 'conflictingLabels';
    expect(report?.left?.examples).toMatchObject([
      { key: `${incoming}cat/1.txt`, reason },
      { key: `${incoming}dog/1.txt`, reason },
    ]);
  });

  it('are packed where the labels agree', async () => {
    const drops = new Drops(conflicts);
    const { held, left } = await drops.run({ 'cat/1.txt': 'same', 'cat/2.txt': 'same' });
    expect([held, left]).toEqual([['cat/1.txt', 'cat/2.txt'], {}]);
  });

  it('are left if the dataset holds another label', async () => {
    const drops = new Drops(conflicts);
    await drops.run({ 'cat/1.txt': 'same', 'cat/2.txt': 'two' });
    const second = await drops.run({ 'dog/1.txt': 'same', 'cat/3.txt': 'same', 'dog/2.txt': 'more' });
    expect(second).toEqual({
      held: ['cat/1.txt', 'cat/2.txt', 'dog/2.txt'],
      left: { conflictingLabels: 2 },
    });
  });

  it('are packed when the held one leaves', async () => {
    const drops = new Drops(conflicts);
    await drops.run({ 'cat/1.txt': 'same', 'cat/2.txt': 'two' });
    const moved = await drops.run({ 'dog/1.txt': 'same' }, ['cat/1.txt']);
    expect(moved).toEqual({ held: ['cat/2.txt', 'dog/1.txt'], left: {} });
    const later = await drops.run({ 'dog/3.txt': 'same' });
    expect(later.held).toEqual(['cat/2.txt', 'dog/1.txt', 'dog/3.txt']);
  });

  it('are compared by the labels of annotations', async () => {
    const annotations = { file: 'labels.csv', key: 'key', label: 'label' };
    const drops = new Drops(settings({ label: 'annotations', annotations, reject: ['conflictingLabels'] }));
    const files = { '1.txt': 'same', '2.txt': 'same', '3.txt': 'other' };
    const first = await drops.run({
      ...files,
      'labels.csv': 'key,label\n1.txt,cat\n2.txt,dog\n3.txt,dog\n',
    });
    expect(first).toEqual({ held: ['3.txt'], left: { conflictingLabels: 2 } });
    const second = await drops.run({ 'labels.csv': 'key,label\n1.txt,cat\n2.txt,cat\n3.txt,dog\n' });
    expect(second).toEqual({ held: ['1.txt', '2.txt', '3.txt'], left: {} });
  });
});

describe('the only sample of a class', () => {
  it('is left until a second one arrives', async () => {
    const drops = new Drops(singles);
    const first = await drops.run({ 'cat/1.txt': 'a', 'cat/2.txt': 'b', 'dog/1.txt': 'c' });
    expect(first).toEqual({ held: ['cat/1.txt', 'cat/2.txt'], left: { singleSampleClasses: 1 } });
    const second = await drops.run({ 'dog/2.txt': 'd', 'cat/3.txt': 'e' });
    expect(second).toEqual({
      held: ['cat/1.txt', 'cat/2.txt', 'cat/3.txt', 'dog/1.txt', 'dog/2.txt'],
      left: {},
    });
  });

  it('is left if conflicts take the others', async () => {
    const drops = new Drops(settings({ reject: ['singleSampleClasses', 'conflictingLabels'] }));
    const { held, left } = await drops.run({
      'cat/1.txt': 'same',
      'cat/2.txt': 'b',
      'dog/1.txt': 'same',
      'dog/2.txt': 'c',
      'dog/3.txt': 'd',
    });
    expect(held).toEqual(['dog/2.txt', 'dog/3.txt']);
    expect(left).toEqual({ conflictingLabels: 2, singleSampleClasses: 1 });
  });
});
