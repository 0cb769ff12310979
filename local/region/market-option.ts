/** `--market`: from what a person writes to a script of the market. */
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { MarketScript } from '../market/market.ts';
import { readTrace } from '../market/scripts/trace.ts';

export const MARKET_HELP =
  'demo (one interruption a run), calm, seed:NUMBER, or trace:FOLDER with <zone id>.json files';

/** @throws RangeError that names the value and what to write instead */
export async function marketScriptOf(text: string): Promise<MarketScript> {
  const [kind, value = ''] = text.split(/:(.*)/s);
  if (text === 'demo' || text === 'calm') return { kind: text };
  if (kind === 'seed' && /^\d{1,9}$/.test(value)) return { kind, seed: Number(value) };
  if (kind === 'trace' && value !== '') return { kind, zones: await readZones(value) };
  throw new RangeError(`--market is "${text}", write ${MARKET_HELP}`);
}

async function readZones(folder: string) {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.json'));
  if (files.length === 0) throw new RangeError(`--market trace:${folder} holds no <zone id>.json file`);
  const traces = await Promise.all(
    files.map(async (file) => [basename(file, '.json'), await readTrace(join(folder, file))] as const),
  );
  return Object.fromEntries(traces);
}
