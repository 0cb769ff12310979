/** What every PipelineStore does. */
import { expect, it } from 'vitest';
import type { Stores } from '../../../../functions/records/stores.ts';
import { AT, secondsAfter } from '../../builders/records.ts';

const LATER = secondsAfter(60);

export function pipelineStoreContract(open: () => Promise<Pick<Stores, 'pipelines'>>): void {
  it('creates a pipeline once and returns the stored one', async () => {
    const { pipelines } = await open();
    const first = await pipelines.ensure('pipe-once', { firstBatch: 3, at: AT });
    const second = await pipelines.ensure('pipe-once', { firstBatch: 9, at: LATER });
    expect(first).toMatchObject({ name: 'pipe-once', openBatch: 3, valid: false });
    expect(second).toEqual(first);
    expect(await pipelines.get('pipe-once')).toEqual(first);
  });

  it('returns undefined for an unknown pipeline', async () => {
    expect(await (await open()).pipelines.get('pipe-never')).toBeUndefined();
  });

  it("keeps a pipeline's problems until it is valid", async () => {
    const { pipelines } = await open();
    await pipelines.ensure('pipe-bad', { firstBatch: 1, at: AT });
    const problems = [{ path: 'training', message: 'is missing' }];
    await pipelines.setValidity('pipe-bad', { valid: false, problems, updatedAt: AT });
    expect(await pipelines.get('pipe-bad')).toMatchObject({ valid: false, problems });
    await pipelines.setValidity('pipe-bad', { valid: true, declarationEtag: 'e2', updatedAt: LATER });
    const corrected = await pipelines.get('pipe-bad');
    expect(corrected).toMatchObject({ valid: true, declarationEtag: 'e2', updatedAt: LATER, openBatch: 1 });
    expect(corrected?.problems).toBeUndefined();
  });

  it('keeps what a sweep saw', async () => {
    const { pipelines } = await open();
    await pipelines.ensure('pipe-swept', { firstBatch: 1, at: AT });
    await pipelines.setSwept('pipe-swept', { sweptAt: LATER, sweptObjects: 7 });
    expect(await pipelines.get('pipe-swept')).toMatchObject({
      sweptAt: LATER,
      sweptObjects: 7,
      openBatch: 1,
      updatedAt: AT,
    });
  });

  it("creates no record for an unknown pipeline's validity", async () => {
    const { pipelines } = await open();
    await pipelines.setValidity('pipe-unknown', { valid: true, updatedAt: AT });
    await pipelines.setSwept('pipe-unknown', { sweptAt: AT, sweptObjects: 0 });
    expect(await pipelines.get('pipe-unknown')).toBeUndefined();
  });

  it('keeps the record of a removed pipeline unlisted', async () => {
    const { pipelines } = await open();
    const listed = async () => (await pipelines.list()).some(({ name }) => name === 'pipe-removed');
    await pipelines.ensure('pipe-removed', { firstBatch: 7, at: AT });
    await pipelines.setValidity('pipe-removed', { valid: true, declarationEtag: 'e1', updatedAt: AT });
    await pipelines.remove('pipe-removed', LATER);
    expect(await listed()).toBe(false);
    const removed = await pipelines.ensure('pipe-removed', { firstBatch: 1, at: LATER });
    expect(removed).toMatchObject({ openBatch: 7, valid: false, removedAt: LATER });
    expect(removed.declarationEtag).toBeUndefined();
    await pipelines.setValidity('pipe-removed', { valid: true, updatedAt: LATER });
    expect(await listed()).toBe(true);
    expect((await pipelines.get('pipe-removed'))?.removedAt).toBeUndefined();
  });

  it('removes no record that is not there', async () => {
    const { pipelines } = await open();
    await pipelines.remove('pipe-unknown', AT);
    expect(await pipelines.get('pipe-unknown')).toBeUndefined();
  });

  it('lists pipelines by name', async () => {
    const { pipelines } = await open();
    for (const each of ['pipe-list-b', 'pipe-list-a']) {
      await pipelines.ensure(each, { firstBatch: 1, at: AT });
    }
    const names = (await pipelines.list()).map((each) => each.name);
    expect(names.filter((each) => each.startsWith('pipe-list'))).toEqual(['pipe-list-a', 'pipe-list-b']);
  });
  it('lists pages of pipelines', async () => {
    const { pipelines } = await open();
    for (const each of ['pipe-page-c', 'pipe-page-a', 'pipe-page-b']) {
      await pipelines.ensure(each, { firstBatch: 1, at: AT });
    }
    const page = async (after: string, limit: number) =>
      (await pipelines.list({ after, limit })).map((each) => each.name);
    expect(await page('pipe-page', 2)).toEqual(['pipe-page-a', 'pipe-page-b']);
    expect(await page('pipe-page-b', 1)).toEqual(['pipe-page-c']);
    expect((await page('pipe-page-c', 9)).filter((name) => name.startsWith('pipe-page'))).toEqual([]);
  });
}
