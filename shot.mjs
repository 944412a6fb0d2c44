import puppeteer from 'puppeteer-core';
import { execFileSync } from 'node:child_process';
const base='http://localhost:3181';
const b=await puppeteer.launch({executablePath:'/usr/bin/chromium',args:['--no-sandbox'],userDataDir:'/tmp/ga/chrome'});
const ctx=await b.createBrowserContext();
const p=await ctx.newPage();
const link=(e,...a)=>JSON.parse(execFileSync('node',['bin/largesse.js','staff','invite',e,'--json',...a])).link;
const shot=async(name,path,{w=1280,dark=false}={})=>{await p.setViewport({width:w,height:900});await p.emulateMediaFeatures([{name:'prefers-color-scheme',value:dark?'dark':'light'}]);if(path)await p.goto(base+path);await p.screenshot({path:`/tmp/ga/shots/${name}.png`,fullPage:true});
 const over=await p.evaluate(()=>document.documentElement.scrollWidth-innerWidth); if(over>0)console.log(name,'overflow',over)};
const l=link('ada@flowers.example','--name','Ada Moreau');
await p.goto(l); await shot('join',null); await shot('join-390',null,{w:390});
await p.type('#password','correct horse battery'); await Promise.all([p.waitForNavigation(),p.click('form:not([data-passkey]) button')]);
await p.setViewport({width:1280,height:900}); await p.goto(base+'/account'); await p.click('form[action="/sign-out"] button'); await p.waitForNavigation().catch(()=>{});
await shot('sign-in','/sign-in'); await shot('sign-in-390-dark','/sign-in',{w:390,dark:true});
await p.type('#email','ada@flowers.example');await p.type('#password','wrong password');await Promise.all([p.waitForNavigation(),p.click('form[action="/sign-in"] button')]);await shot('sign-in-wrong',null);
await p.type('#password','correct horse battery');await Promise.all([p.waitForNavigation(),p.click('form[action="/sign-in"] button')]);
const c=await p.createCDPSession();await c.send('WebAuthn.enable');await c.send('WebAuthn.addVirtualAuthenticator',{options:{protocol:'ctap2',transport:'internal',hasResidentKey:true,hasUserVerification:true,isUserVerified:true,automaticPresenceSimulation:true}});
await shot('account-0','/account');
await shot('passkey-new','/account/passkeys/new'); await Promise.all([p.waitForNavigation(),p.click('form[data-passkey] button')]);
await shot('account',null); await shot('account-390','/account',{w:390}); await shot('account-dark','/account',{dark:true}); await shot('account-320','/account',{w:320});
await shot('staff-new','/staff/new');
for (const [n,e,r,lim] of [['Léa Martin','lea@example.com','cashier','200'],['Inès Laurent','ines@example.com','manager',''],['Hugo Petit','hugo@accounts.example','accountant','']]) {
 await p.goto(base+'/staff/new'); await p.type('#email',e); await p.type('#name',n); await p.select('#role',r); if(lim) await p.type('#sale_limit',lim); await Promise.all([p.waitForNavigation(),p.click('form[action="/staff/new"] button')]);
 if(n==='Inès Laurent'){await shot('link',null);await shot('link-390',null,{w:390});
  const t=await p.$eval('#link',e=>e.textContent); const c2=await b.createBrowserContext(); const q=await c2.newPage(); await q.goto(t); await q.type('#password','another horse battery');await Promise.all([q.waitForNavigation(),q.click('form:not([data-passkey]) button')]);}
}
await p.goto(base+'/staff/new'); await p.type('#email','x@example.com'); await p.type('#name','x'); await p.type('#sale_limit','abc'); await Promise.all([p.waitForNavigation(),p.click('form[action="/staff/new"] button')]); await shot('staff-new-error',null);
await shot('staff','/staff'); await shot('staff-390','/staff',{w:390}); await shot('staff-320','/staff',{w:320}); await shot('staff-dark','/staff',{dark:true});
const href=await p.$eval('a[aria-label="Change Inès Laurent"]',a=>a.getAttribute('href')); await shot('member',href); await shot('member-390',href,{w:390});
await shot('audit','/audit'); await shot('audit-390','/audit',{w:390}); await shot('audit-320','/audit',{w:320}); await shot('audit-dark','/audit',{dark:true}); await shot('audit-failures','/audit?kind=failures');
await shot('confirm','/confirm?next=/staff/new');
await p.setExtraHTTPHeaders({'accept-language':'de'}); await shot('audit-de','/audit'); await shot('staff-de-390','/staff',{w:390}); 
await b.close();
