/** Whether the data of a generation is held back, by what lies beside its manifest. */

import { parseJson } from '@tidewheel/kit/json.ts';
import * as z from 'zod';
import { packingKeys } from '../documents/packing-keys.ts';
import type { VersionStore } from '../documents/versions.ts';

const heldReport = z.object({ held: z.array(z.string()), heldOfRun: z.array(z.string()).optional() });

/**
 * Why training on a generation is held back: the sentences of its report. Empty if it is not held, or if a person has
 * released it.
 */
export async function heldFor(
  store: Pick<VersionStore, 'read'>,
  pipeline: string,
  generation: string,
): Promise<readonly string[]> {
  const held = (await reportedHeld(store, pipeline, generation)) ?? [];
  return held.length > 0 && !(await isReleased(store, pipeline, generation)) ? held : [];
}

type HeldReport = z.output<typeof heldReport>;

async function reportOf(
  store: Pick<VersionStore, 'read'>,
  pipeline: string,
  generation: string,
): Promise<HeldReport | undefined> {
  const text = await store.read(packingKeys(pipeline, generation).quality('report.json'));
  return text === undefined ? undefined : heldReport.safeParse(parseJson(text)).data;
}

/** Undefined if there is no report that can be read. */
export const reportedHeld = async (
  store: Pick<VersionStore, 'read'>,
  pipeline: string,
  generation: string,
): Promise<readonly string[] | undefined> => (await reportOf(store, pipeline, generation))?.held;

/** What earlier runs are held for that no later report finds again, oldest run first. */
export async function stillHeld(
  store: Pick<VersionStore, 'read'>,
  pipeline: string,
  generations: readonly string[],
): Promise<string[]> {
  const sentences: string[] = [];
  for (const name of generations)
    for (const one of (await reportOf(store, pipeline, name))?.heldOfRun ?? [])
      sentences.push(`${name} was held and not released: ${one}`);
  return sentences;
}

/** A person has said that the data may be trained on as it is. */
export const isReleased = async (
  store: Pick<VersionStore, 'read'>,
  pipeline: string,
  generation: string,
): Promise<boolean> =>
  (await store.read(packingKeys(pipeline, generation).quality('released.json'))) !== undefined;
