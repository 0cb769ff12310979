/** What a screen gives the page to show. */
export interface Screen {
  readonly title: string;
  readonly content: readonly HTMLElement[];
  /** Until the next reading; undefined: nothing more will change. */
  readonly pollSeconds: number | undefined;
}
