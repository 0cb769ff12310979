import { createHash } from 'node:crypto';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { describe, expect, it } from 'vitest';
import { readProgress } from '../../../functions/records/progress.ts';
import { fakeClock } from '../../support/fakes/clock.ts';
import { memoryObjectStore } from '../../support/fakes/object-store.ts';

const RUN = 'digits-000001';
const folder = bucketKeys.checkpoints('digits', RUN);

const md5 = (text: string) => createHash('md5').update(text).digest('hex');

async function proved(checkpoint: string, ...objects: string[]): Promise<number | undefined> {
  const store = memoryObjectStore(fakeClock());
  const note = { step: 40, totalSteps: 100, checkpoint, updatedAt: '2026-11-21T00:00:00Z' };
  await store.writeText(bucketKeys.progress('digits', RUN), JSON.stringify(note));
  for (const name of objects) await store.writeText(folder + name, 'x');
  return (await readProgress(store, 'digits', RUN))?.step;
}

describe('progress', () => {
  it('counts when its checkpoint holds the marker', async () => {
    expect(await proved('step-00000040', 'step-00000040/state.pt', 'step-00000040/COMPLETE.json')).toBe(40);
  });

  it('does not count while the marker is missing', async () => {
    expect(await proved('step-00000040', 'step-00000040/state.pt')).toBeUndefined();
  });

  it("counts for other frameworks' existing folders and files", async () => {
    expect(await proved('checkpoint-40', 'checkpoint-40/model.safetensors')).toBe(40);
    expect(await proved('epoch=3.ckpt', 'epoch=3.ckpt')).toBe(40);
    expect(await proved('checkpoint-40', 'checkpoint-400/model.safetensors')).toBeUndefined();
    expect(await proved('epoch=3.ckpt')).toBeUndefined();
  });

  it('counts with all bytes that its note lists', async () => {
    const store = memoryObjectStore(fakeClock());
    const files = { 'ckpt-40.index': { bytes: 3 }, 'meta.json': { bytes: 2 } };
    const note = { step: 40, totalSteps: 0, checkpoint: 'ckpt-40', updatedAt: '2026-11-21T00:00:00Z', files };
    await store.writeText(bucketKeys.progress('digits', RUN), JSON.stringify(note));
    await store.writeText(`${folder}ckpt-40.index`, 'xx');
    expect(await readProgress(store, 'digits', RUN)).toBeUndefined();
    await store.writeText(`${folder}ckpt-40.index`, 'xxx');
    expect(await readProgress(store, 'digits', RUN)).toBeUndefined();
    await store.writeText(`${folder}meta.json`, '{}');
    expect((await readProgress(store, 'digits', RUN))?.step).toBe(40);
  });

  it('counts the kept copy while the newest lacks bytes', async () => {
    const store = memoryObjectStore(fakeClock());
    const part = 'tidewheel-kept/0a1b-a';
    const at = '2026-11-21T00:00:00Z';
    const kept = [
      { step: 30, totalSteps: 0, checkpoint: 'ckpt.pt', updatedAt: at, files: { [part]: { bytes: 3 } } },
    ];
    const note = { step: 40, totalSteps: 0, checkpoint: 'ckpt.pt', updatedAt: at, kept };
    const files = { 'ckpt.pt': { bytes: 9 } };
    await store.writeText(bucketKeys.progress('digits', RUN), JSON.stringify({ ...note, files }));
    await store.writeText(`${folder}ckpt.pt`, 'xxxx');
    expect(await readProgress(store, 'digits', RUN)).toBeUndefined();
    await store.writeText(folder + part, 'xxx');
    expect((await readProgress(store, 'digits', RUN))?.step).toBe(30);
    await store.writeText(`${folder}ckpt.pt`, 'xxxxxxxxx');
    expect((await readProgress(store, 'digits', RUN))?.step).toBe(40);
  });

  it('counts with all bytes that its marker lists', async () => {
    const store = memoryObjectStore(fakeClock());
    const name = 'step-00000040';
    const note = { step: 40, totalSteps: 0, checkpoint: name, updatedAt: '2026-11-21T00:00:00Z' };
    await store.writeText(bucketKeys.progress('digits', RUN), JSON.stringify(note));
    await store.writeText(`${folder}${name}/COMPLETE.json`, '{"files":{"state":{"bytes":5}}}');
    expect(await readProgress(store, 'digits', RUN)).toBeUndefined();
    await store.writeText(`${folder}${name}/state`, 'saved');
    expect((await readProgress(store, 'digits', RUN))?.checkpointBytes).toBe(5);
  });

  describe('of a note that a script wrote', () => {
    const at = '2026-11-21T00:00:00Z';
    /** How many listings it took, and how many objects of them were looked at. */
    async function countedWith(note: object, objects: readonly string[]) {
      const store = memoryObjectStore(fakeClock());
      await store.writeText(bucketKeys.progress('digits', RUN), JSON.stringify(note));
      for (const name of objects) await store.writeText(folder + name, 'x');
      const counted = { lists: 0, objects: 0 };
      const list = async function* (prefix: string) {
        counted.lists += 1;
        for await (const object of store.list(prefix)) {
          counted.objects += 1;
          yield object;
        }
      };
      return { progress: await readProgress({ ...store, list }, 'digits', RUN), ...counted };
    }
    const filesOf = (names: readonly string[]) =>
      Object.fromEntries(names.map((name) => [name, { bytes: 1 }]));
    const many = Array.from({ length: 60_000 }, (_, number) => `part-${number}`);
    const saved = { step: 40, totalSteps: 0, updatedAt: at };

    it('looks for many names in one listing', async () => {
      const note = { ...saved, checkpoint: 'ckpt.pt', files: filesOf(['ckpt.pt', ...many]) };
      expect(await countedWith(note, ['ckpt.pt'])).toMatchObject({ progress: undefined, lists: 1 });
    });

    it('looks for all kept checkpoints in one listing more', async () => {
      const kept = Array.from({ length: 8 }, (_, number) => ({
        ...saved,
        checkpoint: 'ckpt.pt',
        files: filesOf(many.slice(number * 500, number * 500 + 500)),
      }));
      const note = { ...saved, checkpoint: 'ckpt.pt', files: filesOf(['ckpt.pt']), kept };
      expect(await countedWith(note, [])).toMatchObject({ progress: undefined, lists: 2 });
    });

    it('looks for a few names among many others', async () => {
      const files = filesOf(['ckpt-40.index', 'ckpt-40.data', 'meta.json']);
      const note = { ...saved, checkpoint: 'ckpt-40', files };
      const found = await countedWith(note, [...Object.keys(files), ...many.slice(0, 2_000)]);
      expect(found).toMatchObject({ progress: { step: 40 }, objects: 3 });
    });

    it('looks for a checkpoint without names in three listings', async () => {
      const neighbours = many.slice(0, 2_000).map((name) => `checkpoint-4${name}`);
      const missing = await countedWith({ ...saved, checkpoint: 'checkpoint-4' }, neighbours);
      expect(missing).toMatchObject({ progress: undefined, lists: 3, objects: 1 });
    });

    it('counts without metrics that no record can hold', async () => {
      const none = async (metrics: unknown) =>
        (await countedWith({ ...saved, checkpoint: 'a.pt', metrics }, ['a.pt'])).progress;
      expect(await none({ loss: 1e30 })).toMatchObject({ step: 40, metrics: { loss: 1e30 } });
      expect(await none({ loss: 1e200 })).toMatchObject({ step: 40, metrics: undefined });
      expect(await none({ ['x'.repeat(201)]: 1 })).toMatchObject({ step: 40, metrics: undefined });
      expect(await none(Object.fromEntries(many.map((name) => [name, 1])))).toMatchObject({
        step: 40,
        metrics: undefined,
      });
    });

    it('counts no step that no record can hold', async () => {
      const note = { ...saved, checkpoint: 'a.pt' };
      expect((await countedWith({ ...note, trainingSeconds: 1e200 }, ['a.pt'])).progress).toBeUndefined();
      expect((await countedWith({ ...note, step: 1e20 }, ['a.pt'])).progress).toBeUndefined();
    });
  });

  describe('with checksums', () => {
    const saved = { bytes: 5, etag: md5('saved') };

    async function comparedWith(
      content: string,
      { name = 'ckpt.pt', later = 10, encrypted = false, own = false } = {},
    ) {
      const clock = fakeClock();
      const store = memoryObjectStore(clock);
      const savedAt = clock.now();
      const file = own ? `${name}/state` : name;
      const note = {
        step: 40,
        totalSteps: 0,
        checkpoint: name,
        updatedAt: savedAt.toISOString(),
        files: { [file]: saved },
      };
      await store.writeText(bucketKeys.progress('digits', RUN), JSON.stringify(note));
      if (own) await store.writeText(`${folder}${name}/COMPLETE.json`, '{"files":{"state":{"bytes":5}}}');
      store.put(`${folder}${file}`, content, new Date(savedAt.getTime() + 1_000 * later));
      // Under a KMS key an ETag is no MD5.
      const readText = async (key: string) => {
        const found = await store.readText(key);
        return found && (encrypted ? { ...found, etag: md5(found.etag) } : found);
      };
      return (await readProgress({ ...store, readText }, 'digits', RUN))?.comparedBy;
    }

    it('is proven by equal ones', async () => {
      expect(await comparedWith('saved')).toBe('checksums');
      expect(await comparedWith('saved', { own: true, name: 'step-00000040' })).toBe('checksums');
    });

    it('does not count while an older version is there', async () => {
      expect(await comparedWith('older', { later: -30 })).toBeUndefined();
    });

    it('counts by size after another save', async () => {
      expect(await comparedWith('newer')).toBe('sizes');
    });

    it('does not count with a wrong final file', async () => {
      expect(await comparedWith('wrong', { own: true, name: 'step-00000040' })).toBeUndefined();
    });

    describe('of objects in parts', () => {
      const inParts = (text: string, parts: number) => `${md5(text)}-${parts}`;

      async function comparedInParts(there: string, noted: string, later: number) {
        const clock = fakeClock();
        const store = memoryObjectStore(clock);
        const files = { 'ckpt.pt': { bytes: 5, etag: noted } };
        const at = clock.now();
        const note = {
          step: 40,
          totalSteps: 0,
          checkpoint: 'ckpt.pt',
          updatedAt: at.toISOString(),
          files,
        };
        await store.writeText(bucketKeys.progress('digits', RUN), JSON.stringify(note));
        store.put(`${folder}ckpt.pt`, 'state', new Date(at.getTime() + 1_000 * later));
        async function* list(prefix: string) {
          for await (const each of store.list(prefix)) yield { ...each, etag: there };
        }
        return (await readProgress({ ...store, list }, 'digits', RUN))?.comparedBy;
      }

      it('is proven by equal ones', async () => {
        expect(await comparedInParts(inParts('saved', 13), inParts('saved', 13), 10)).toBe('checksums');
      });

      it('does not count while an older version is there', async () => {
        expect(await comparedInParts(inParts('older', 13), inParts('saved', 13), -30)).toBeUndefined();
      });

      it('counts by size where the parts may be others', async () => {
        expect(await comparedInParts(inParts('saved', 7), inParts('saved', 13), -30)).toBe('sizes');
        expect(await comparedInParts(inParts('older', 2), inParts('saved', 2), -30)).toBe('sizes');
        expect(await comparedInParts(md5('saved'), inParts('saved', 13), -30)).toBe('sizes');
        expect(await comparedInParts('of-no-md5', md5('saved'), -30)).toBe('sizes');
      });
    });

    it('counts by size without MD5 in ETags', async () => {
      expect(await comparedWith('older', { later: -30, encrypted: true })).toBe('sizes');
    });
  });

  it('does not follow a name out of the checkpoints', async () => {
    expect(await proved('../../other', 'x')).toBeUndefined();
    expect(await proved('/etc', 'x')).toBeUndefined();
  });

  it('does not count a note that is no progress', async () => {
    const store = memoryObjectStore(fakeClock());
    expect(await readProgress(store, 'digits', RUN)).toBeUndefined();
    for (const text of ['', 'no json', '{}', '{"step":-1}']) {
      await store.writeText(bucketKeys.progress('digits', RUN), text);
      expect(await readProgress(store, 'digits', RUN)).toBeUndefined();
    }
  });
});
