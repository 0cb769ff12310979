/** Whether the data of a generation is held back, by what lies beside its manifest. */
import * as z from 'zod';
import { parseJson } from '../../shared/json.ts';
import { packingKeys } from '../model/packing-keys.ts';
import type { VersionStore } from '../model/versions.ts';

const heldReport = z.object({ held: z.array(z.string()) });

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

/** Undefined if there is no report that can be read. */
export async function reportedHeld(
  store: Pick<VersionStore, 'read'>,
  pipeline: string,
  generation: string,
): Promise<readonly string[] | undefined> {
  const text = await store.read(packingKeys(pipeline, generation).quality('report.json'));
  return text === undefined ? undefined : heldReport.safeParse(parseJson(text)).data?.held;
}

/** A person has said that the data may be trained on as it is. */
export const isReleased = async (
  store: Pick<VersionStore, 'read'>,
  pipeline: string,
  generation: string,
): Promise<boolean> =>
  (await store.read(packingKeys(pipeline, generation).quality('released.json'))) !== undefined;
