/** A dataset in memory, and what becomes of it: drops, runs, compactions, retractions. */

import type { OnChange, OnDelete, PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { type Compacted, compact } from '@tidewheel/packing/compact.ts';
import { planShards } from '@tidewheel/packing/plan.ts';
import { type SealResult, sealDataset } from '@tidewheel/packing/seal.ts';
import { MemoryBlobStore } from '../fakes/memory-blob-store.ts';
import { contents, current, incoming, linesIn, problems, runOf } from './compaction.ts';
import { now, PIPELINE, planAndPack, SMALL, settings } from './packing.ts';

type CompactionInput = Parameters<typeof compact>[1];
type Planned = ReturnType<typeof planShards>;

/** Keys are relative to incoming/. */
export class DatasetWorld {
  readonly store = new MemoryBlobStore();
  packing: PackingSettings;
  onChange: OnChange = 'replace';
  onDelete: OnDelete | undefined;
  now = now;
  /** The objects of a range in listed-ranges.ts. Undefined: as in production. */
  rangeObjects: number | undefined = 2;
  batch = 0;

  constructor(changes: Partial<PackingSettings> = {}) {
    this.packing = settings({ shardMegabytes: 0.06, ...changes });
  }

  put(files: Readonly<Record<string, string | Uint8Array>>, etag?: string): void {
    for (const [key, body] of Object.entries(files)) this.store.seed(`${incoming}${key}`, body, etag);
  }

  delete(...keys: readonly string[]): void {
    for (const key of keys) this.store.objects.delete(`${incoming}${key}`);
  }

  /** The next run. */
  plan(notifiedSince?: string): Planned {
    this.batch += 1;
    const { store, rangeObjects, onChange, onDelete } = this;
    const run = { ...this.#run(), onChange, onDelete, notifiedSince };
    return planShards({ store, now: this.now, rangeObjects }, run);
  }

  async pack(): Promise<void> {
    await planAndPack(this.store, this.packing, runOf(this.batch));
  }

  async seal(): Promise<SealResult> {
    await this.pack();
    return sealDataset({ store: this.store }, this.#run());
  }

  compact(changes: Partial<CompactionInput> = {}): Promise<Compacted> {
    const { store, packing, onChange } = this;
    const input = { pipeline: PIPELINE, packing, after: 'never', onChange, ...changes } as const;
    return compact(store, input, { ...SMALL, readBytes: 1_000 });
  }

  retract(...keys: readonly string[]): Promise<Compacted> {
    return this.compact({ retracted: new Set(keys.map((key) => incoming + key)) });
  }

  /** Plans, packs and seals, then compacts as the run would. */
  async run(): Promise<SealResult> {
    await this.plan();
    const sealed = await this.seal();
    await this.compact();
    return sealed;
  }

  /** Keys of the newest version, and what is wrong with it. */
  async keys(): Promise<string[]> {
    const keys = (await contents(this.store)).map((line) => line.slice(incoming.length).split(' ')[0] ?? '');
    return [...keys, ...(await problems(this.store))];
  }

  /** Digest of each source of the newest version. @throws Error if a key is there twice, or if anything is wrong */
  async held(): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    const wrong = await problems(this.store);
    for (const manifest of await current(this.store))
      for (const { key, sha256, source, repeat } of linesIn(this.store, manifest)) {
        if (key === undefined || repeat !== undefined) continue;
        const name = key.slice(incoming.length);
        if (found[name] !== undefined) wrong.push(`${name} is there twice`);
        found[name] = source?.sha256 ?? sha256;
      }
    if (wrong.length > 0) throw new Error(wrong.join('; '));
    return found;
  }

  #run() {
    return { runId: runOf(this.batch), pipeline: PIPELINE, packing: this.packing };
  }
}
