/**
 * A stored decision put again, or under other assumptions.
 *
 * Errors: UnreadableRecordError for a decision of another release. Called by the API.
 */
export { offersThatPay } from './explain/offers-that-pay.ts';
export {
  questionAt,
  questionBesideOthers,
  questionOf,
  sameChoice,
  whyUnreadable,
} from './explain/stored-decision.ts';
export { completeMarket, decideIf } from './explain/what-if.ts';
