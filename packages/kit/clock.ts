/** The time as an argument. Called by all that must not read the clock. */

export interface Clock {
  now(): Date;
}
