/**
 * A stored decision in words, put again, or under other assumptions.
 *
 * Errors: UnreadableRecordError for a decision of another release. Called by the API and `tidewheel why`.
 */
export { formatDecision } from './explain/format-decision.ts';
export { completeMarket } from './explain/market-for-what-if.ts';
export { questionAt, questionOf, sameChoice } from './explain/replay.ts';
export { whyUnreadable } from './explain/stored-decision.ts';
export { decideIf } from './explain/what-if.ts';
