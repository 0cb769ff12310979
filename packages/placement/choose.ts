/**
 * Where the next attempt goes, and whether a running one should move.
 *
 * In: the declaration, the attempts so far, and the market. Out: a decision with its whole table: launch, wait or give up.
 * Called by `place`, the attempts, plans and the API.
 */

export { choosePlacement } from './decision/choose.ts';
export { placementQuestion, type QuestionDeps, reservationsOf } from './decision/question.ts';
export { mayMoveToSpot, type RunningCampaign, revise } from './decision/revise.ts';
export { type PlacementInput, storedPart, storedQuestion } from './decision/situation.ts';
