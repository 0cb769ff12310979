/** The verbs of the command line. */
import type { Verb } from './command/verb.ts';

/** In the order of a person's work. Each is loaded when it is called: the AWS SDK takes a while. */
export const VERBS = {
  init: () => import('./verbs/init.ts'),
  check: () => import('./verbs/check.ts'),
  up: () => import('./verbs/up.ts'),
  plan: () => import('./verbs/plan.ts'),
  apply: () => import('./verbs/apply.ts'),
  drop: () => import('./verbs/drop.ts'),
  run: () => import('./verbs/run.ts'),
  runs: () => import('./verbs/runs.ts'),
  watch: () => import('./verbs/watch.ts'),
  logs: () => import('./verbs/logs.ts'),
  why: () => import('./verbs/why.ts'),
  compare: () => import('./verbs/compare.ts'),
  probe: () => import('./verbs/probe.ts'),
  doctor: () => import('./verbs/doctor.ts'),
  stop: () => import('./verbs/stop.ts'),
  retry: () => import('./verbs/retry.ts'),
  limits: () => import('./verbs/limits.ts'),
  'delete-checkpoints': () => import('./verbs/delete-checkpoints.ts'),
  cost: () => import('./verbs/cost.ts'),
  market: () => import('./verbs/market.ts'),
  evaluate: () => import('./verbs/evaluate.ts'),
  model: () => import('./verbs/model.ts'),
  data: () => import('./verbs/data.ts'),
  page: () => import('./verbs/page.ts'),
  mcp: () => import('./verbs/mcp.ts'),
  try: () => import('./verbs/try.ts'),
  interrupt: () => import('./verbs/interrupt.ts'),
} as const satisfies Readonly<Record<string, () => Promise<{ readonly verb: Verb }>>>;
