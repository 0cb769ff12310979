/**
 * The market: its port, its history, and what collects it.
 *
 * Every failure of the market is a value. Called by the market's adapters, the table and `collect-scores`.
 */

export { observationsOfOthers, poolOutcomeOf } from './belief/attempt-observations.ts';
export { QUESTIONS_A_DAY, questionKey } from './market/ask-scores.ts';
export { collectScores } from './market/collect.ts';
export { refreshedBy, samplesFor, withScoresOfNow } from './market/market-memory.ts';
export {
  type CapacityOffer,
  type HardwareStore,
  type ListPriceStore,
  type MarketAnswer,
  type MarketFailure,
  type MarketSample,
  type MarketSampleStore,
  type MarketSource,
  type MarketStores,
  type MarketView,
  marketSampleSchema,
  type OfferQuestion,
  type OfferSource,
  type OnDemandPrice,
  type PlacementScore,
  POOL_OUTCOME_DAYS,
  type PoolOutcome,
  type PoolOutcomeStore,
  poolOutcomeSchema,
  QUESTION_DAYS,
  type RequestedScore,
  type Reservation,
  type ReservationSource,
  requestedScoreSchema,
  SAMPLE_DAYS,
  type ScoreQuestionStore,
  type SpotPrice,
  type Zone,
} from './records/market-history.ts';
