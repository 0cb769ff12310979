/**
 * New GetSpotPlacementScores configurations are limited in 24 hours; a configuration of that time may come again.
 * AWS names neither the number nor exactly what makes a configuration: here it is every field but paging.
 */
import { Ec2Error } from './ec2-error.ts';

export interface ConfigurationLimit {
  /** @throws Ec2Error MaxConfigLimitExceeded */
  count(configuration: string, nowSeconds: number): void;
}

const DAY_SECONDS = 86_400;

export function configurationLimit(most: number): ConfigurationLimit {
  const firstRequested = new Map<string, number>();
  return {
    count: (configuration, nowSeconds) => {
      for (const [known, at] of firstRequested)
        if (at <= nowSeconds - DAY_SECONDS) firstRequested.delete(known);
      if (firstRequested.has(configuration)) return;
      if (firstRequested.size >= most) {
        throw new Ec2Error(
          'MaxConfigLimitExceeded',
          "You've exceeded your maximum allowed Spot placement configurations. You can retry configurations that you " +
            'used within the last 24 hours, or wait for 24 hours before specifying a new configuration.',
        );
      }
      firstRequested.set(configuration, nowSeconds);
    },
  };
}
