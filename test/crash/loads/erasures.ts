/**
 * Customers who are erased. An acknowledged erasure becomes complete, whatever was killed, and no byte of the address is left
 * in the files.
 */

import assert from 'node:assert/strict';
import { until } from '../../support/delivering.ts';
import { send } from '../../support/http-client.ts';
import { isRejected, persist, type OpenLoad } from '../killing.ts';

/** An erasure changes 20 cards in one transaction. */
const cards = 50;

type Person = {
  readonly address: string;
  /** Undefined: the batch with the cards has no response. */
  customer: number | undefined;
  isErased: boolean;
};

export const openErasures: OpenLoad = async ({ database, url, openStore, count }) => {
  const { token, storeId } = await openStore('erasures.example');
  const people: Person[] = [];
  const post = (path: string, json: object) => send(`${url}${path}`, { method: 'POST', token, json });
  let interrupted = 0;
  let completed = 0;

  const issue = async ({ address }: Person, others: number): Promise<void> => {
    const all = Array.from({ length: cards }, (_, place) => {
      const other = `friend-${others}-${place}@example.com`;
      const [email, recipient] = place % 2 === 0 ? [address, other] : [other, address];
      return { initial_value: 5, email, recipient_email: recipient, note: `for ${address}`, notify: false };
    });
    // A batch that was repeated could issue cards to the address after its erasure.
    const headers = { 'idempotency-key': `people-${others}` };
    const request = { method: 'POST', token, headers, json: { cards: all } };
    const { status, text } = await send(`${url}/batches`, request);
    // The process stops, or still has the request of a lost connection.
    if (status === 503 || status === 409) throw new Error(text);
    assert.equal(status, 202, text);
  };
  /** The id of the customer, once all cards are issued. */
  const find = async (person: Person): Promise<boolean> => {
    const { json } = await send(`${url}/customers?email=${person.address}`, { token });
    const [customer] = (json as { readonly customers?: readonly { readonly id: number }[] }).customers ?? [];
    if (!customer) return false;
    const issued = `select count(*) from gift_cards where store_id = ? and note = ?`;
    if ((await count(issued, storeId, `for ${person.address}`)) < cards) return false;
    person.customer = customer.id;
    return true;
  };
  const erase = async (person: Person, isOver: () => boolean): Promise<void> => {
    const { status, text } = await post(`/customers/${person.customer}/erase`, { erase_notes: true });
    if (isRejected({ status }, isOver)) return;
    assert.equal(status, 202, text);
    person.isErased = true;
  };
  const isComplete = async ({ customer }: Person): Promise<boolean> =>
    (await send(`${url}/customers/${customer}/erasure`, { token })).text.includes('"status":"complete"');

  return {
    name: 'erasures',
    count: () => completed,
    async work(isOver) {
      while (!isOver()) {
        // A person whose cards have been issued before a kill is erased first.
        let person = people.find(({ isErased }) => !isErased);
        if (!person) {
          const fresh: Person = {
            address: `ada.${people.length}@erased.example`,
            customer: undefined,
            isErased: false,
          };
          const sent = await persist(isOver, () => issue(fresh, people.length));
          if (sent === undefined && isOver()) return;
          people.push((person = fresh));
        }
        const found = person;
        await until(async () => isOver() || (await persist(isOver, () => find(found))) === true, 120_000);
        if (found.customer === undefined) return;
        await persist(isOver, () => erase(found, isOver));
        await until(
          async () => isOver() || (await persist(isOver, () => isComplete(found))) === true,
          120_000,
        );
        if (!isOver()) completed += 1;
      }
    },
    async whileDown() {
      interrupted += await count(
        "select count(*) from customer_erasures where store_id = ? and step <> 'complete'",
        storeId,
      );
    },
    async checkEnd() {
      for (const person of people) {
        await until(() => person.customer !== undefined || find(person), 60_000);
        // A repeated request returns the same erasure.
        await erase(person, () => false);
        await until(() => isComplete(person), 60_000);
      }
      // Other customers of cards are not erased, and none of the erased ones is left.
      const erasures = await database.query('select * from customer_erasures where store_id = ?', storeId);
      assert.equal(erasures.length, people.length);
      for (const erasure of erasures)
        assert.deepEqual([Number(erasure['cards']), erasure['address']], [cards, null]);
      assert.equal(await count('select count(*) from customer_erasure_cards where store_id = ?', storeId), 0);
      await until(async () => !(await database.bytes()).includes('@erased.example'), 60_000);
    },
    checkStopped(bytes) {
      assert.ok(!bytes.includes('@erased.example'), 'an erased address is stored');
      assert.ok(bytes.includes('friend-0-0@example.com'));
    },
    summary: () => `${people.length} customers, ${interrupted} kills were within an erasure`,
  };
};
