/** Reads `demo`, `demo:NUMBER`, `calm`, `seed:NUMBER` or `trace:FOLDER`, as the command lines take it. */
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { REGIONS, zonesOf } from './model/offers.ts';
import type { MarketScript } from './scripts/market-script.ts';
import { readTrace } from './scripts/trace.ts';
import type { Trace } from './scripts/trace-file.ts';

export const SCRIPT_HELP =
  'demo (one interruption a run; demo:NUMBER moves it), calm, seed:NUMBER, or trace:FOLDER (a JSON file for each zone)';

/** @throws RangeError that says what to write instead */
export function marketScriptOf(text: string, region: string = REGIONS[0]): MarketScript {
  const script = read(text, region);
  if (!script) throw new RangeError(`there is no such market script; write ${SCRIPT_HELP}`);
  return script;
}

function read(text: string, region: string): MarketScript | undefined {
  const [, kind, value] = /^(calm|demo|seed|trace)(?::(.+))?$/s.exec(text) ?? [];
  if (kind === 'trace' && value) return { kind, zones: readTraces(value, region) };
  if ((kind === 'seed' || kind === 'demo') && /^\d{1,9}$/.test(value ?? ''))
    return { kind, seed: Number(value) };
  return (kind === 'demo' || kind === 'calm') && value === undefined ? { kind } : undefined;
}

/**
 * A file belongs to the zone that its name begins with (use1-az4.json, us-east-1d_v100.json). The published traces come
 * from other regions: files that name no zone of this one take its free zones in the order of their names.
 */
function readTraces(folder: string, region: string): Readonly<Record<string, Trace>> {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new RangeError(`there is no folder ${folder}: name one with a .json file for each zone`);
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort();
  if (files.length === 0)
    throw new RangeError(`there is no trace in ${folder}: name a folder with a .json file for each zone`);
  const zones = zonesOf(region);
  const traces: Record<string, Trace> = {};
  const homeless: string[] = [];
  for (const file of files) {
    const own = zones.find(({ zoneId, zoneName }) =>
      [zoneId, zoneName].includes(file.split(/[_.]/, 1)[0] ?? ''),
    );
    if (own) traces[own.zoneId] = readTrace(path.join(folder, file));
    else homeless.push(file);
  }
  const free = zones.filter(({ zoneId }) => !traces[zoneId]);
  for (const [index, file] of homeless.entries()) {
    const zone = free[index];
    if (!zone)
      throw new RangeError(
        `${folder} holds more traces than ${region} has zones (${zones.length}): remove some`,
      );
    traces[zone.zoneId] = readTrace(path.join(folder, file));
  }
  return traces;
}
