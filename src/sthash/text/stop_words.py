"""Stop words per language: function words, which are in most texts and tell little about their content.

Written for sthash; short on purpose: articles, pronouns, prepositions, conjunctions, auxiliaries. Words are as the
scanner finds them: in lower case, cut at apostrophes. English has the list of scikit-learn 1.x, which has the words of
the Glasgow information retrieval group.
"""

from __future__ import annotations

# fmt: off
# Of scikit-learn's list for English, what people search for: nouns, verbs, adjectives, numbers, abbreviations.
CONTENT_WORDS = """
    amount back bill bottom call co con cry de describe detail eight eleven empty fifteen fifty fill find fire first
    five forty found four front full get give go hundred inc interest keep last ltd made mill mine move name nine part
    put re see serious show side sincere six sixty system take ten thick thin third three top twelve twenty two un
    whole"""
STOP_WORDS: dict[str, str] = {
    "arabic": """
        أم أن أنا أنت أو أي إذا إلى إن اذا التي الذي الذين الى ان انا انت او اي بعد بعض به بها بين تكون تلك ثم حتى
        حيث ذلك على عليه عليها عن عند غير في فيه فيها قبل قد كان كانت كل كما لا لكن لم لن له لها لهم ليس ما مع من
        منذ منه منها نحن هذا هذه هل هم هن هو هي و وفي ومن وهو وهي يا يكون""",
    "armenian": """
        այդ այլ այն այս առաջ բայց դու դուք եթե եմ են ենք ես եւ եք է էին էր թե ինչ իր իրենց կամ համար հետ հետո մասին
        մենք մեջ մի նա նաև նրա նրանք ոչ որ որը որի որոնք ու չէ չի պես վրա և""",
    "basque": """
        baina baita bat bere beste bezala da dago daude dira ditu dituzte du dute edo egin ere eta ez gu haiek hau
        hauek hori horiek hura izan izango ni noiz nola non nor zen zer ziren zituen zituzten zu zuek zuen zuten""",
    "catalan": """
        a això al allò als amb aquell aquella aquest aquesta aquestes aquests cap com d de del dels des el ell ella
        els em en ens entre era eren es estar et fins ha han hi ho i ja jo l la les li meu molt més ni no nosaltres
        o on pel pels per perquè però quan que qui què s se sense ser seu seus seva seves si sobre són també teu tot
        tota totes tots tu un una unes uns us vosaltres és""",
    "czech": """
        a aby ale ani ano asi až bez bude budou by byl byla byli bylo být co což do i jak jako je jeho jej jejich
        její jen ještě ji jsem jsi jsme jsou jste k kam kde kdo kdy když ke která které který kteří ku ma mají mezi
        mi mně mu my má mít na nad ne nebo než nic nám nás náš o od on ona oni ono pak po pod podle pokud pro proto
        proč před přes při s se si sice své svůj ta tak také tato ten tento to toho tomu tu ty této tím u už v ve vy
        vám vás však všechno z za zde ze že""",
    "danish": """
        af alle andet at blev bliver da de dem den denne der deres det dette dig din disse dog du efter eller en end
        er et for fra ham han hans har havde have hende hendes her hos hun hvad hvis hvor i ikke ind jeg jer jo
        kunne man mange med meget men mig min mine mit mod ned noget nogle nu når og også om op os over på selv sig
        sin sine sit skal skulle som sådan til ud under var vi vil ville vor være været""",
    "dutch": """
        aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en er ge
        geen geweest haar had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je kan kon kunnen
        maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons ook op over reeds te
        tegen toch toen tot u uit uw van veel voor want waren was wat werd wezen wie wil worden wordt zal ze zelf
        zich zij zijn zo zonder zou""",
    "english": """
        a about above across after afterwards again against all almost alone along already also although always
        am among amongst amoungst amount an and another any anyhow anyone anything anyway anywhere are around as
        at back be became because become becomes becoming been before beforehand behind being below beside
        besides between beyond bill both bottom but by call can cannot cant co con could couldnt cry de describe
        detail do done down due during each eg eight either eleven else elsewhere empty enough etc even ever
        every everyone everything everywhere except few fifteen fifty fill find fire first five for former
        formerly forty found four from front full further get give go had has hasnt have he hence her here
        hereafter hereby herein hereupon hers herself him himself his how however hundred i ie if in inc indeed
        interest into is it its itself keep last latter latterly least less ltd made many may me meanwhile might
        mill mine more moreover most mostly move much must my myself name namely neither never nevertheless next
        nine no nobody none noone nor not nothing now nowhere of off often on once one only onto or other others
        otherwise our ours ourselves out over own part per perhaps please put rather re same see seem seemed
        seeming seems serious several she should show side since sincere six sixty so some somehow someone
        something sometime sometimes somewhere still such system take ten than that the their them themselves
        then thence there thereafter thereby therefore therein thereupon these they thick thin third this those
        though three through throughout thru thus to together too top toward towards twelve twenty two un under
        until up upon us very via was we well were what whatever when whence whenever where whereafter whereas
        whereby wherein whereupon wherever whether which while whither who whoever whole whom whose why will
        with within without would yet you your yours yourself yourselves""",
    "esperanto": """
        al ankaŭ antaŭ aŭ da de do el en estas esti estis estos ili ilia inter kaj ke kiam kie kiel kio kiu kiuj kun
        la li lia mi mia ne ni nia nur oni per pli por post pri pro se sed si sia sub sur tio tiu tiuj tra tre vi
        via ĉar ĉi ĉiu ĉiuj ĝi ĝis ŝi ŝia""",
    "estonian": """
        aga ainult all alla eest ei enne et ilma ja juba ka kes koos kui kuid kuni kus kõik ma me meie mida mille
        mina mis nad nagu nende nii ning ole olema oli olid olnud oma on poolt pärast sa seda see selle sest siis
        sina ta te teie tema vaid veel välja või üks üle""",
    "finnish": """
        ali ei eivät eli emme en ennen et ette että he heidän hän hänen ja jo joita joka jonka jos jossa jotka
        jälkeen kanssa koska kuin kuka kun me meidän mikä minun minä missä mitä mukaan mutta myös ne niin nuo nämä
        olemme olen olet olette oli olin olivat olla ollut on ovat se sekä sen siinä siitä sillä sinun sinä sitä tai
        te teidän tuo tämä tässä tästä tätä vaan vain vielä yli""",
    "french": """
        a ai as au aussi aux avaient avait avec avez avons ayant c ce celle celles celui ces cet cette ceux chez
        comme d dans de des donc dont du elle elles en entre est et eu eux fut il ils j je l la le les leur leurs
        lui m ma mais me mes moi mon même n ne ni nos notre nous on ont or ou où par pas plus pour puis qu que quel
        quelle quelles quels qui quoi s sa sans se sera serait seront ses si son sont sous sur t ta te tes toi ton
        très tu un une vers vos votre vous y à ça étaient était étant été être""",
    "german": """
        aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus
        bei bin bis bist da damit dann das dass dasselbe dazu daß dein deine dem den denn der deren des dessen dich
        die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines einige er
        es etwas euch euer für gegen habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem
        ihren ihrer im in indem ins ist jede jedem jeden jeder jedes jene jetzt kann kein keine keinem keinen keiner
        können könnte machen man manche mein meine mich mir mit muss musste nach nicht nichts noch nun nur ob oder
        ohne sehr sein seine seinem seinen seiner selbst sich sie sind so solche soll sollte sondern sonst um und
        uns unser unter viel vom von vor war waren was weg weil weiter welche welchem welchen welcher welches wenn
        werde werden wie wieder will wir wird wirst wo wollen wollte während würde würden zu zum zur zwar zwischen
        über""",
    "greek": """
        ένα ένας έχει έχουν ή ήταν αλλά αν από αυτά αυτή αυτοί αυτό αυτός για δεν είναι είχε εγώ εμείς εσείς εσύ η
        θα κάθε και κατά κι μία μας με μετά μη μην μια μου μόνο να ο οι πιο ποιος πολύ που πριν προς πως πώς σας σε
        σου στα στη στην στις στο στον στους τα την της τι τις το τον του τους των χωρίς ως όλα όλοι όπως όταν ότι""",
    "hindi": """
        अगर अपना अपनी अपने आप इन इस इसका इसकी इसके उन उनका उनकी उनके उस उसका उसकी उसके एक और कब कर करने कहाँ का कि
        किया की कुछ के कैसे को कौन क्या गई गए गया जब जो तक तब तुम तेरा तो था थी थे द्वारा न नहीं ने पर बाद भी में
        मेरा मैं यह या ये रहा रही रहे लिए लेकिन वह वे सकता सकती सकते सब साथ से हम ही है हैं हो होता होती होते""",
    "hungarian": """
        a aki akik alatt amely amelyek ami amit az azok azt be csak de egy el előtt engem ez ezek ezt fel ha hogy
        hogyan hol illetve ilyen is itt kell ki között le lehet lenne lesz lett majd meg mert mi mikor minden minket
        mint mit miért már még nagyon nem olyan ott pedig se sem szerint te ti téged több után vagy valamint van
        vannak volt voltak által én és így úgy ő ők őt""",
    "indonesian": """
        ada adalah agar akan aku anda antara apa atau bagaimana bahwa belum bisa bukan dalam dan dapat dari dengan
        di dia hanya harus hingga ia ini itu jika juga kalau kami kamu karena ke kita lagi lebih maka mana masih
        mereka namun nya oleh pada para pun saat sampai sangat saya sebagai sebelum secara seperti serta setelah
        siapa sudah tapi telah tersebut tetapi tidak untuk yang""",
    "irish": """
        a ach ag agus an ar as ba bheith bhí chuig chun cé de den do don faoi gan go gur i iad idir is le leis liom
        mar mo muid mé na nach ní níl níor nó os sa san seo siad sibh sin sinn sé sí thar tá tú um é í ó ón""",
    "italian": """
        a ad agli ai al all alla alle allo anche c che chi ci come con contro cui d da dagli dai dal dall dalla
        dalle dallo degli dei del dell della delle dello di dove e ed era erano essere fra gli ha hanno ho i il in
        io l la le lei li lo loro lui ma me mi mia mie miei mio ne negli nei nel nell nella nelle nello no noi non
        nostra nostro o od per perché più quale quando quanto quella quelle quelli quello questa queste questi
        questo qui se sei si sia siamo sono sta stata stato su sua sue sugli sui sul sull sulla sulle sullo suo suoi
        ti tra tu tua tue tuo tuoi tutti tutto un una uno vi voi vostra vostro è""",
    "lithuanian": """
        ant apie ar arba aš be bet bus buvo būti dar dėl iki ir iš jau jei ji jie jis jo jos jūs jų kad kai kaip kas
        kur kuri kurie kurios kuris ką labai mes ne nei nes nuo o pat per po prie prieš savo su ta tai taip tarp tas
        tie tik tos tu už yra į ši šie šios šis""",
    "nepali": """
        अनि अब उनको उनले उनी एक का की कुन के को गरे गरेको गर्न गर्ने छ छन् जुन तपाईं तर ती त्यो थिए थियो नै पछि पनि
        बाट भएको भने भन्ने भयो म मा यी यो र लाई लागि ले वा सँग हामी हुने हुन् हुन्छ हो""",
    "norwegian": """
        alle at av begge ble bli blir da de deg dei dem den denne der deres det dette di din disse ditt du eller en
        enn er et etter for fordi fra før ha hadde han hans har henne hennes her hun hva hvem hver hvis hvor hvordan
        i ikke inn ja jeg kan kunne man mange med meg men mer mitt mot mye må ned noe noen nå når og også om opp oss
        over på samme seg selv sin sine sitt skal skulle slik som så til ut var ved vi vil ville vår være vært""",
    "persian": """
        آن آنها از است اما او اگر ایشان این با باشد باید بر برای به بود بی بین تا تو خود دارد دارند داشت در دیگر را
        روی شد شده شما شود ما من می نه نیز ها های هر هم همه هیچ و ولی وی پس پیش چه چون کرد کرده کند کنند که یا یک""",
    "polish": """
        a aby ale ani bardzo bez bo by być był była było były będzie będą co czy dla do gdy gdzie go i ich ile im
        inne ja jak jako je jednak jego jej jest jestem jeszcze już kiedy kto która które którego której który
        których którym którzy lub ma mają mi mnie może my na nad nam nas nich nie nim niż o od on ona one oni ono
        oraz po pod przed przez przy się swoje są ta tak także tam te tego tej ten to tu tych tylko tym u w we więc
        wszystko z za ze że żeby""",
    "portuguese": """
        a ao aos aquela aquelas aquele aqueles aquilo as até com como da das de dela delas dele deles depois do dos
        e ela elas ele eles em entre era eram essa essas esse esses esta estas estava este estes está estão eu foi
        for foram há isso isto já lhe lhes mais mas me mesmo meu meus minha minhas muito na nas nem no nos nossa
        nosso num numa não o os ou para pela pelas pelo pelos por porque qual quando que quem se sem ser será seu
        seus sua suas são só também te tem ter teu tinha tu tua têm um uma umas uns você vocês vos à às é""",
    "romanian": """
        a acea aceasta această acest aceste acestea acestei acestor acestui acum ai al ale alt alte am ar are as
        asupra atunci au avea aveau avut ca care ce cel cele celor cine cu cum când că da dacă dar de deci deja din
        după ea ei el ele era erau este eu fi fie fiind foarte fost i la le lor lui mai mea mei meu ne nici noi
        nostru nu o or ori pe pentru prin sa sale sau se si spre sub sunt sunteți să te tot toți tu un una unde unei
        unor unui va voi vor vă îi îl îmi în între își îți și""",
    "russian": """
        а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее
        если есть еще ещё её же за здесь и из или им их к как ко когда кто ли либо мне может мы на над надо наш не
        него нее нет неё ни них но ну о об однако он она они оно от очень по под при про с себя со так также такой
        там те тем то того тоже той только том ты у уже хотя чего чей чем что чтобы чьё эта эти это этого этой этом
        этому этот я""",
    "serbian": """
        ako ali bi bila bilo bio biti da do gde i ili iz ja je još kada kako kao koja koje koji mi na ne nije nisam
        nisu o od on ona oni ova ovaj ovo po pri sa sam samo se si smo ste su sve svih ta taj te ti to u već vi za
        će što ако али би била било био бити већ ви где да до за и из или када како као која које који ми на не
        нисам нису није о ова овај ово од он она они по при са сам само све свих се си смо сте су та тај те ти то у
        што ја је још ће""",
    "sesotho": """
        a ane ba bo bona di e empa ena eno eo feela ha hae hape ho hore jwalo ka kapa ke la le lona mme ne nna ntse
        o re rona sa teng tsa tse wa wena ya yena""",
    "spanish": """
        a al algo algunas algunos ante antes como con contra cual cuando de del desde donde durante e el ella ellas
        ellos en entre era eran es esa esas ese eso esos esta estas este esto estos está están fue fueron ha había
        han hasta hay la las le les lo los me mi mis mucho muy más mí nada ni no nos nosotros nuestra nuestro o os
        otra otro otros para pero poco por porque que quien quienes qué se sea ser si sido sin sobre son su sus sí
        también tan tanto te tiene tienen todo todos tu tus tú un una uno unos vosotros y ya yo él""",
    "swedish": """
        alla allt att av blev bli blir dem den denna deras dess det detta dig din dina ditt du där då efter ej eller
        en er era ert ett från för ha hade han hans har henne hennes hon honom hur här i icke ingen inom inte jag ju
        kan kunde man med mellan men mig min mina mitt mot mycket ni nu när någon något några och om oss på samma
        sedan sig sin sina sitta själv ska skulle som så sådan till under upp ut utan vad var vara varför varit vars
        vem vi vid vilken vilket vår våra vårt än är åt över""",
    "tamil": """
        அது அந்த அல்லது அவன் அவர் அவர்கள் அவள் ஆகிய ஆனால் இது இந்த இருக்கும் இருந்த இருந்து இல்லை உள்ள எங்கு எந்த என
        என்ன என்ற என்று எப்படி ஒரு கொண்டு தான் நாங்கள் நான் நாம் நீ நீங்கள் பற்றி பின்னர் போன்ற மட்டும் மற்றும் முன்
        மேலும் யார் வந்து வேண்டும்""",
    "turkish": """
        acaba ama ancak aslında az bana bazı belki ben beni benim bile bir biri birkaç biz bize bizi bizim bu buna
        bunda bundan bunlar bunu bunun da daha dahi de defa değil diye en eğer gibi göre ha hem hep hepsi her herkes
        hiç ile ise için işte ki kim kimse mi mu mü mı nasıl ne neden nerede niçin o olan olarak oldu olduğu olması
        olur ona onlar onları onların onu onun oysa pek rağmen sadece sanki sen seni senin siz sizi sizin tüm var ve
        veya ya yani yok zaten çok çünkü öyle üzere şey şu şunlar""",
    "yiddish": """
        א אַ אַז אָבער אבער אויך אויף און אז איז איך אין איר אן ביי געווען דאָס דאס דו די דער האָבן האָט האבן האט
        וואָס וואס ווי וועט זי זיי זיך זענען מיט מיר נאָר נאר ניט נישט עס ער פֿאַר פֿון פאר פון צו""",
}
# fmt: on
