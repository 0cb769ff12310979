/**
 * What placement reads of runs, attempts and the market, and what it decides.
 *
 * Out: schemas and types, which the service's records are made of, and the cost of an attempt. Called by the records, attempts,
 * API and launchers.
 */

export { type AssumedName, assumed, dollars, hours, NEXT_LOOK_SECONDS } from './model/assumed.ts';
export * from './records/attempts.ts';
export * from './records/placement-records.ts';
