/** A million keys of each form, listed by many requests at once. The clock is virtual: each request takes S3's latency. */
import { limitsOf } from '@tidewheel/emulators/limits/profiles.ts';
import { listInParallel } from '../../functions/core/packing/plan/parallel-listing.ts';
import { TurnStore } from '../../test/support/fakes/turn-store.ts';
import { KEY_FORMS, keysOf } from '../../test/support/key-forms.ts';
import type { CaseOptions, CaseResult } from './case.ts';
import { priced } from './prices.ts';

/** Times as fast as one page after the other. A hundred pages are over before most readers have begun. */
const LEAST_SPEEDUP = { small: 3, full: 6 };

export async function runListingForms(count: number, { profile, small }: CaseOptions): Promise<CaseResult> {
  const { latencySeconds } = limitsOf(profile).s3;
  const details: Record<string, number> = {};
  const problems: string[] = [];
  let [slowest, sent] = [0, 0];
  for (const [form, nameOf] of KEY_FORMS) {
    const keys = keysOf(small ? count / 10 : count, nameOf);
    const store = new TurnStore(keys);
    let listed = 0;
    let isSame = true;
    for await (const { objects } of listInParallel(store, ''))
      for (const { key } of objects) {
        isSame &&= key === keys[listed];
        listed += 1;
      }
    const pages = Math.ceil(keys.length / store.pageSize);
    const seconds = store.turns * latencySeconds;
    slowest = Math.max(slowest, seconds);
    sent += store.requests;
    details[`${form}: seconds`] = round(seconds);
    details[`${form}: pages at once`] = round(pages / store.turns);
    details[`${form}: requests for each page`] = round(store.requests / pages);
    if (!isSame || listed !== keys.length) problems.push(`${form}: the listing differs from the keys`);
    if (store.turns * LEAST_SPEEDUP[small ? 'small' : 'full'] > pages)
      problems.push(`${form}: ${pages} pages took ${store.turns} turns`);
  }
  return {
    ok: problems.length === 0,
    outcome: problems.length === 0 ? 'all keys, each once, in order' : problems.join('; '),
    seconds: slowest,
    details,
    requests: priced(new Map([['s3 put or list', sent]])),
  };
}

const round = (value: number): number => Math.round(value * 100) / 100;
