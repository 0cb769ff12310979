/**
 * A stored decision in words, put again, or under other assumptions.
 *
 * Errors: UnreadableRecordError for a decision of another release. Called by the API and `tidewheel why`.
 */
export { offersThatPay } from './explain/offers-that-pay.ts';
export {
  formatDecision,
  questionAt,
  questionBesideOthers,
  questionOf,
  sameChoice,
  whyUnreadable,
} from './explain/stored-decision.ts';
export { completeMarket, decideIf } from './explain/what-if.ts';
