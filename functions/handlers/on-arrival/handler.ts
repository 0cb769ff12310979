import { queueHandler } from '../../aws/lambda/lambda-handler.ts';
import { config } from '../../aws/shared/config.ts';
import { takeArrivals } from '../../run/ingest/take-arrivals.ts';
import { clock, executions, schedules, store, tableStores } from '../../wiring/services.ts';

export const handler = queueHandler('on-arrival', 'arrivals', (messages) => {
  const deps = {
    ...tableStores(),
    store: store(),
    executions: executions(),
    schedules: schedules(),
    clock,
    notifiedMarker: config.notifiedMarker(),
    allowed: config.allowed(),
  };
  return takeArrivals(deps, messages);
});
