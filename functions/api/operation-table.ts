/**
 * The operations of the HTTP API, in the order of the document. The function's description gives their routes to API
 * Gateway, api.ts answers them, and shared/open-api.ts describes them.
 */
import { acknowledgeRun } from './operations/acknowledge-run.ts';
import { annotateRun } from './operations/annotate-run.ts';
import { chooseModel } from './operations/choose-model.ts';
import { compareRuns } from './operations/compare-runs.ts';
import { deleteCheckpoints } from './operations/delete-checkpoints.ts';
import { deletePipeline } from './operations/delete-pipeline.ts';
import { evaluateModel } from './operations/evaluate-model.ts';
import { getDataset } from './operations/get-dataset.ts';
import { getGeneration } from './operations/get-generation.ts';
import { getImage } from './operations/get-image.ts';
import { getLog } from './operations/get-log.ts';
import { getMarket } from './operations/get-market.ts';
import { getModel } from './operations/get-model.ts';
import { getModels } from './operations/get-models.ts';
import { getMoney } from './operations/get-money.ts';
import { getOpenApi } from './operations/get-open-api.ts';
import { getPipeline } from './operations/get-pipeline.ts';
import { getPlacement } from './operations/get-placement.ts';
import { getReport } from './operations/get-report.ts';
import { getRun } from './operations/get-run.ts';
import { getSeries } from './operations/get-series.ts';
import { getTimeline } from './operations/get-timeline.ts';
import { getUtilisation } from './operations/get-utilisation.ts';
import { getWhatIf } from './operations/get-what-if.ts';
import { listAttempts } from './operations/list-attempts.ts';
import { listModels } from './operations/list-models.ts';
import { listPipelineRuns } from './operations/list-pipeline-runs.ts';
import { listPipelines } from './operations/list-pipelines.ts';
import { listPlacements } from './operations/list-placements.ts';
import { listProbes } from './operations/list-probes.ts';
import { listRuns } from './operations/list-runs.ts';
import { planRun } from './operations/plan-run.ts';
import { putLimits } from './operations/put-limits.ts';
import { putPin } from './operations/put-pin.ts';
import { putPipeline } from './operations/put-pipeline.ts';
import { retryRun } from './operations/retry-run.ts';
import { startProbe } from './operations/start-probe.ts';
import { startRun } from './operations/start-run.ts';
import { stopRun } from './operations/stop-run.ts';

export const OPERATIONS = [
  listPipelines,
  getPipeline,
  putPipeline,
  deletePipeline,
  listPipelineRuns,
  startRun,
  listProbes,
  startProbe,
  listRuns,
  getRun,
  listAttempts,
  getTimeline,
  listPlacements,
  getPlacement,
  getReport,
  getSeries,
  getUtilisation,
  getLog,
  stopRun,
  retryRun,
  acknowledgeRun,
  annotateRun,
  putLimits,
  getWhatIf,
  getDataset,
  getGeneration,
  getImage,
  putPin,
  listModels,
  getModels,
  chooseModel,
  getModel,
  evaluateModel,
  compareRuns,
  getMarket,
  getMoney,
  deleteCheckpoints,
  planRun,
  getOpenApi,
] as const;
