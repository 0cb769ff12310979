/** How many functions may run at once, and how long packing takes with so many. */
import type { LambdaConcurrency } from './account-view.ts';
import { type Finding, judged, type Look, limited, passed } from './finding.ts';

const PLACE = { check: 'Lambda concurrency', field: 'ConcurrentExecutions' };

/** Of `--param packers=` (serverless/parameters.cjs). */
const DEFAULT_PACKERS = 100;
/** The four queues use at most nine executions (serverless/functions.yml). */
const OTHERS = 10;
const EXAMPLE_GIGABYTES = 100;
/** An item holds at most 256 MB and takes up to a minute. */
const ITEMS = Math.ceil((EXAMPLE_GIGABYTES * 1_000) / 256);

/** https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
const REMEDY =
  'request 1,000: aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384 --desired-value 1000';

const packingMinutes = (slots: number): number => Math.ceil(ITEMS / slots);

/** @param packers items that a plan packs side by side */
export const concurrencyFindings = (
  look: Look<LambdaConcurrency>,
  packers = DEFAULT_PACKERS,
): readonly Finding[] =>
  judged(PLACE, look, ({ account, unreserved }) => {
    const value = `${account}, ${unreserved} unreserved`;
    if (unreserved >= packers + OTHERS) return passed(PLACE, value);
    const minutes = packingMinutes(Math.min(packers, Math.max(1, unreserved - 1)));
    return limited(PLACE, {
      value,
      message: `packing ${EXAMPLE_GIGABYTES} GB takes about ${minutes} minutes, against ${packingMinutes(packers)} with the default quota; functions of the account wait for each other`,
      remedy: REMEDY,
    });
  });
