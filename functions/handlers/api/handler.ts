import { answer } from '../../api/answer.ts';
import { httpEvent, requestIn, resultOf } from '../../api/http-event.ts';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { cloudWatchLogs, cloudWatchLogsIn } from '../../aws/logs/log-reader.ts';
import { config } from '../../aws/shared/config.ts';
import { clock, executions, notifier, objects, schedules, tableStores } from '../../wiring/services.ts';

export const handler = lambdaHandler('api', httpEvent, async (event) => {
  const deps = {
    ...tableStores(),
    ...objects(),
    logs: cloudWatchLogs(cloudWatchLogsIn, config.region()),
    executions: executions(),
    schedules: schedules(),
    notifier: notifier(),
    clock,
    notifiedMarker: config.notifiedMarker(),
    allowed: config.allowed(),
    people: config.people(),
  };
  return resultOf(await answer(deps, requestIn(event)));
});
