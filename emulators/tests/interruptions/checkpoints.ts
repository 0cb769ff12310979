/** Checkpoints in a bucket or on a host's disk, judged by what their markers say. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod';

const STATE = 'state.bin';
const marker = z.object({
  step: z.number(),
  files: z.object({ [STATE]: z.object({ bytes: z.number(), sha256: z.string() }) }),
});

export interface Complete {
  readonly step: number;
  /** Of its state, as its marker says and its bytes are. */
  readonly sha256: string;
}

/** The checkpoint, or undefined when it is not whole: no marker, or other bytes than the marker says. */
function completeOf(markerText: string, state: Buffer): Complete | undefined {
  const said = marker.safeParse(parsed(markerText));
  if (!said.success) return undefined;
  const sha256 = createHash('sha256').update(state).digest('hex');
  return sha256 === said.data.files[STATE].sha256 ? { step: said.data.step, sha256 } : undefined;
}

/** All whole checkpoints in a bucket below a prefix, the newest first. */
export async function completeIn(
  keys: readonly string[],
  get: (key: string) => Promise<Buffer>,
): Promise<Complete[]> {
  const found: Complete[] = [];
  for (const key of keys.filter((each) => each.endsWith('/COMPLETE.json'))) {
    const state = keys.find((each) => each === key.replace('COMPLETE.json', STATE));
    const complete = state && completeOf((await get(key)).toString('utf8'), await get(state));
    if (complete) found.push(complete);
  }
  return found.sort((a, b) => b.step - a.step);
}

/** The highest step whose marker lies on the disk; 0 without one. Names only, because callers read it often. */
export function newestMarker(folder: string): number {
  return Math.max(0, ...stepsIn(folder).filter((step) => has(folder, step, 'COMPLETE.json')));
}

/** Whether a checkpoint above this step has been begun, whole or not. */
export const hasBegun = (folder: string, above: number): boolean =>
  stepsIn(folder).some((step) => step > above);

function stepsIn(folder: string): number[] {
  try {
    return readdirSync(folder)
      .flatMap((name) => /^step-(\d+)$/.exec(name)?.[1] ?? [])
      .map(Number);
  } catch {
    return [];
  }
}

function has(folder: string, step: number, file: string): boolean {
  try {
    readFileSync(path.join(folder, `step-${String(step).padStart(8, '0')}`, file));
    return true;
  } catch {
    return false;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
