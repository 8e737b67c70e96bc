//! Pets in XML: equivalent documents are read alike, and answers are exact.

use http::Method;
use serde_json::json;

use crate::{
    answers::{is_broken, is_xml, number, pet},
    fixture::Open,
};

const XML: &str = "application/xml";

const WHOLE: &str = "<pet><id>10</id><category><id>1</id><name>Dogs</name></category><name>doggie</name>\
     <photoUrls><photoUrl>https://example.com/1.jpg</photoUrl><photoUrl>2.jpg</photoUrl></photoUrls>\
     <tags><tag><id>7</id><name>brown</name></tag><tag><name>small</name></tag><tag></tag></tags>\
     <status>pending</status></pet>";

testkit::on_one_engine! {
    async fn pet_round_trips_in_xml(open: Open) {
        for method in [Method::POST, Method::PUT] {
            let call = open.pets.call(method, "/v3/pet").body(XML, WHOLE).header("accept", XML);
            is_xml(&call.send().await, WHOLE);
        }
        is_xml(&open.pets.get("/v3/pet/10").header("accept", XML).send().await, WHOLE);
        is_xml(&open.key.get("/v3/pet/10").header("accept", XML).send().await, WHOLE);
        let answer = open.pets.get("/v3/pet/10").header("accept", "text/xml").send().await;
        assert_eq!(answer.header("content-type"), "text/xml; charset=utf-8");
        assert!(answer.text().ends_with(WHOLE), "{}", answer.text());
        open.pet(10).await.is(
            200,
            &json!({
                "id": 10,
                "category": {"id": 1, "name": "Dogs"},
                "name": "doggie",
                "photoUrls": ["https://example.com/1.jpg", "2.jpg"],
                "tags": [{"id": 7, "name": "brown"}, {"name": "small"}, {}],
                "status": "pending",
            }),
        );
        // A pet that was sent as XML can be read as JSON, and the other way round.
        let call = open.pets.post("/v3/pet").body(XML, "<pet><name>Rex</name><photoUrls/></pet>");
        call.send().await.is(200, &json!({"id": 1, "name": "Rex", "photoUrls": []}));
        let call = open.pets.post("/v3/pet").json(&pet("Rex")).header("accept", XML);
        is_xml(&call.send().await, "<pet><id>2</id><name>Rex</name><photoUrls></photoUrls></pet>");
        let changed = open.pets.post("/v3/pet/2?status=sold").header("accept", XML).send().await;
        is_xml(&changed, "<pet><id>2</id><name>Rex</name><photoUrls></photoUrls><status>sold</status></pet>");
    }

    async fn equivalent_documents_are_read_alike(open: Open) {
        let expected = json!({
            "id": 5, "name": "a<b>&c", "photoUrls": ["x"], "tags": [{"id": 1, "name": "t"}], "status": "sold",
        });
        let spellings = [
            "<pet><id>5</id><name>a&lt;b&gt;&amp;c</name><photoUrls><photoUrl>x</photoUrl></photoUrls>\
             <tags><tag><id>1</id><name>t</name></tag></tags><status>sold</status></pet>",
            // Another order, blanks between elements and around words.
            "\n<pet>\n <status> sold\t</status>\n <tags>\n  <tag><name>t</name><id>\n1 </id></tag>\n </tags>\n \
             <photoUrls> <photoUrl>x</photoUrl> </photoUrls><name>a&lt;b&gt;&amp;c</name> <id> 5 </id></pet>\n",
            // A declaration, comments, an instruction, a byte order mark.
            "\u{feff}<?xml version='1.0' encoding=\"utf-8\" standalone='yes'?>\n<!-- a pet --><?style x?><pet><id>5</id>\
             <name>a&lt;<!-- in the middle -->b&gt;&amp;c</name><photoUrls><photoUrl>x</photoUrl><!-- y --></photoUrls>\
             <tags><tag><id>1</id><name>t</name></tag></tags><status>sold</status></pet><!-- end -->",
            // CDATA and numbers for characters.
            "<pet><id>&#53;</id><name><![CDATA[a<b>]]>&#38;&#x63;</name><photoUrls><photoUrl>&#x78;</photoUrl></photoUrls>\
             <tags><tag><id>1</id><name><![CDATA[t]]></name></tag></tags><status>s&#111;ld</status></pet>",
            // A default namespace, a prefix, attributes.
            "<pet xmlns=\"https://example.com/pets\" kind='dog'><id>5</id><name xml:lang=\"en\">a&lt;b&gt;&amp;c</name>\
             <photoUrls><photoUrl>x</photoUrl></photoUrls><tags><tag><id>1</id><name>t</name></tag></tags>\
             <status>sold</status></pet>",
            "<p:pet xmlns:p=\"https://example.com/pets\"><p:id>5</p:id><p:name>a&lt;b&gt;&amp;c</p:name><p:photoUrls>\
             <p:photoUrl>x</p:photoUrl></p:photoUrls><p:tags><p:tag><p:id>1</p:id><p:name>t</p:name></p:tag></p:tags>\
             <p:status>sold</p:status></p:pet>",
            // Unknown elements.
            "<pet><unknown>brown</unknown><id>5</id><name>a&lt;b&gt;&amp;c</name><photoUrls><photoUrl>x</photoUrl><other/>\
             </photoUrls><tags><tag><id>1</id><name>t</name><x><id>9</id></x></tag></tags><status>sold</status></pet>",
        ];
        for spelling in spellings {
            for content_type in ["application/xml", "text/xml", "application/xml; charset=utf-8"] {
                let answer = open.pets.post("/v3/pet").body(content_type, spelling).send().await;
                assert_eq!((answer.status, answer.json()), (200, expected.clone()), "{spelling}");
            }
            open.pet(5).await.is(200, &expected);
            open.pets.delete("/v3/pet/5").send().await.has_status(200);
        }
    }

    async fn text_with_markup_characters_round_trips(open: Open) {
        let name = " <b>&amp; ]]> \"quoted\" 'single' é 🐕\ttab\nline\rreturn ";
        let added = open.add(&pet(name)).await;
        let id = number(&added, "id");
        let answer = open.pets.get(&format!("/v3/pet/{id}")).header("accept", XML).send().await;
        is_xml(
            &answer,
            &format!(
                "<pet><id>{id}</id><name> &lt;b&gt;&amp;amp; ]]&gt; \"quoted\" 'single' é 🐕\ttab\nline&#13;return \
                 </name><photoUrls></photoUrls></pet>"
            ),
        );
        // Read again, it is the same pet.
        let call = open.pets.put("/v3/pet").body(XML, answer.text());
        call.send().await.is(200, &added);
    }

    async fn malformed_document_gets_400(open: Open) {
        open.add(&pet("Rex")).await;
        let before = open.dump().await;
        let doctype = "must not have a DOCTYPE";
        let broken = "is not valid XML: ";
        for (body, said) in [
            ("", "is empty; an XML document is required"),
            ("  \n", "is empty; an XML document is required"),
            ("<pet>", broken),
            ("<pet></pets>", broken),
            ("<pet><name>a</pet></name>", broken),
            ("<pet/><pet/>", broken),
            ("pet", broken),
            ("<pet/>x", broken),
            ("<pet a=1/>", broken),
            ("<pet a='1' a='1'/>", broken),
            ("<pet>&nbsp;</pet>", broken),
            ("<pet>&#0;</pet>", broken),
            ("<pet>&#xFFFE;</pet>", broken),
            ("<pet>& </pet>", broken),
            ("<pet>]]></pet>", broken),
            ("<pet>\u{1}</pet>", broken),
            ("<pet>\u{fffe}</pet>", broken),
            ("<p:pet/>", broken),
            ("<!-- -- --><pet/>", broken),
            ("{\"name\":\"a\",\"photoUrls\":[]}", broken),
            ("<!DOCTYPE pet><pet><name>a</name><photoUrls/></pet>", doctype),
            ("<!DOCTYPE pet [<!ENTITY x \"y\">]><pet><name>&x;</name><photoUrls/></pet>", doctype),
            ("<!DOCTYPE pet SYSTEM \"file:///etc/passwd\"><pet/>", doctype),
            ("<?xml version='1.1'?><pet/>", "must be XML 1.0, not 1.1"),
            ("<?xml version='1.0' encoding='latin1'?><pet/>", "must be sent in UTF-8, not in latin1"),
            ("<dog/>", "must be an XML document with the root element pet, not dog"),
            ("<Pet/>", "must be an XML document with the root element pet, not Pet"),
            (&format!("<pet>{}", "<a>".repeat(100_000)), "must not be nested deeper than 32 elements"),
        ] {
            for method in [Method::POST, Method::PUT] {
                let answer = open.pets.call(method, "/v3/pet").body(XML, body.to_owned()).send().await;
                let detail = answer.is_problem(400, "invalid-request");
                assert!(detail.starts_with(&format!("# {said}")), "{body:.60}: {detail}");
                assert_eq!(answer.json()["errors"][0]["pointer"], "#");
            }
        }
        let answer = open.pets.post("/v3/pet").body(XML, &b"<pet><name>\xff</name></pet>"[..]).send().await;
        answer.is_invalid(&[("#", "is not UTF-8")]);
        assert_eq!(open.dump().await, before);
    }

    async fn document_with_an_invalid_member_gets_422(open: Open) {
        let before = open.dump().await;
        for (body, errors) in [
            ("<pet/>", &[("#/name", "is required"), ("#/photoUrls", "is required")][..]),
            ("<pet><name/><photoUrls/></pet>", &[("#/name", "must not be empty")]),
            ("<pet><name> </name><photoUrls/></pet>", &[("#/name", "must not be empty")]),
            (
                "<pet><name>a</name><photoUrls>x</photoUrls></pet>",
                &[("#/photoUrls", "must be a list, of elements rather than text")],
            ),
            (
                "<pet><name>a</name><photoUrls><photoUrl/></photoUrls></pet>",
                &[("#/photoUrls/0", "must not be empty")],
            ),
            ("<pet><name><b>a</b></name><photoUrls/></pet>", &[("#/name", "must be text")]),
            (
                "<pet><name>a</name><photoUrls/><category>Dogs</category></pet>",
                &[("#/category", "must hold elements, not text")],
            ),
            (
                "<pet><name>a</name><photoUrls/><tags><tag>x</tag></tags></pet>",
                &[("#/tags/0", "must hold elements, not text")],
            ),
            (
                "<pet><name>a</name><photoUrls/><status/></pet>",
                &[("#/status", "must be one of: available, pending, sold")],
            ),
            ("<pet>text</pet>", &[("#", "must hold elements, not text")]),
            (
                "<pet xmlns:x=\"http://www.w3.org/2001/XMLSchema-instance\"><name x:nil='true'/>\
                 <photoUrls x:nil='1'/></pet>",
                &[("#/name", "must not be null"), ("#/photoUrls", "must not be null")],
            ),
        ] {
            is_broken(&open.pets.post("/v3/pet").body(XML, body).send().await, errors);
        }
        // An invalid id or a repeated element makes the body malformed.
        let id = "must be a whole number from -9223372036854775808 to 9223372036854775807";
        for (body, pointer, said) in [
            ("<pet><id>x</id><name>a</name><photoUrls/></pet>", "#/id", id),
            ("<pet><id/><name>a</name><photoUrls/></pet>", "#/id", id),
            ("<pet><id>1.0</id><name>a</name><photoUrls/></pet>", "#/id", id),
            ("<pet><id>9223372036854775808</id><name>a</name><photoUrls/></pet>", "#/id", id),
            ("<pet><id><b>1</b></id><name>a</name><photoUrls/></pet>", "#/id", id),
            ("<pet><name>a</name><name>b</name><photoUrls/></pet>", "#/name", "is given more than once"),
            ("<pet><name>a</name><photoUrls/><photoUrls/></pet>", "#/photoUrls", "is given more than once"),
        ] {
            let answer = open.pets.post("/v3/pet").body(XML, body).send().await;
            answer.is_invalid(&[(pointer, said)]);
        }
        assert_eq!(open.dump().await, before);
    }
}
